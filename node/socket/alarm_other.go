//go:build !linux

package socket

func newAlarm() alarm { return newRuntimeAlarm() }

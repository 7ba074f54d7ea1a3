//go:build !linux

package node

func newAlarm() alarm { return newRuntimeAlarm() }

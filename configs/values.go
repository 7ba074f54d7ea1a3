package configs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// plainValue returns v as maps, lists, strings, booleans and json.Numbers.
func plainValue(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("internal error: configs: %v", err))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		panic(fmt.Sprintf("internal error: configs: %v", err))
	}
	return plain
}

// valueOf returns the field that holds a key.
func valueOf(c *Config, key string) reflect.Value {
	v := reflect.ValueOf(c).Elem()
	for name := range strings.SplitSeq(key, ".") {
		if v.Kind() == reflect.Map {
			v = v.MapIndex(reflect.ValueOf(name))
		} else {
			v = fieldOf(v, name)
		}
	}
	return v
}

// A sectionKey is a key in sections of one type.
type sectionKey struct {
	section reflect.Type
	key     string
}

// indexes has the fields of the keys that were asked for: a load asks for hundreds, and to read tags takes long.
var indexes sync.Map

// fieldOf returns the field of a section by the name of its key.
func fieldOf(section reflect.Value, name string) reflect.Value {
	at := sectionKey{section.Type(), name}
	if i, known := indexes.Load(at); known {
		return section.Field(i.(int))
	}
	for i := range section.NumField() {
		if at.section.Field(i).Tag.Get("json") == name {
			indexes.Store(at, i)
			return section.Field(i)
		}
	}
	panic("internal error: configs: no field for the key " + name)
}

// assign gives the field below v that holds a key another value. An entry of a map is replaced, since it cannot be
// changed in place.
func assign(v reflect.Value, path []string, value reflect.Value) {
	switch {
	case len(path) == 0:
		v.Set(value)
	case v.Kind() == reflect.Map:
		entry := reflect.New(v.Type().Elem()).Elem()
		entry.Set(v.MapIndex(reflect.ValueOf(path[0])))
		assign(entry, path[1:], value)
		v.SetMapIndex(reflect.ValueOf(path[0]), entry)
	default:
		assign(fieldOf(v, path[0]), path[1:], value)
	}
}

package model

import "strings"

// JavaType is the name of a Java type, taken apart.
type JavaType struct {
	Name   string // without the rest
	Static bool   // of the object that stands for a class: java.lang.Class<Name>
	Arrays int    // how many [] follow the name
}

const (
	staticPrefix, staticSuffix = "java.lang.Class<", ">"
	arraySuffix                = "[]"
)

// ParseJavaType takes a name apart.
func ParseJavaType(name string) (t JavaType) {
	if inner, ok := strings.CutPrefix(name, staticPrefix); ok && strings.HasSuffix(inner, staticSuffix) {
		name, t.Static = strings.TrimSuffix(inner, staticSuffix), true
	}
	for strings.HasSuffix(name, arraySuffix) {
		name = strings.TrimSuffix(name, arraySuffix)
		t.Arrays++
	}
	t.Name = name
	return t
}

// String puts the name together.
func (t JavaType) String() string {
	name := t.Name + strings.Repeat(arraySuffix, t.Arrays)
	if t.Static {
		name = staticPrefix + name + staticSuffix
	}
	return name
}

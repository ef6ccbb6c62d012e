package heap

import "strings"

// JavaType is a parsed Java type name.
type JavaType struct {
	Name   string // without the rest
	Static bool   // whether it is the object that represents a class: java.lang.Class<Name>
	Arrays int    // how many [] follow the name
}

const (
	staticPrefix, staticSuffix = "java.lang.Class<", ">"
	arraySuffix                = "[]"
)

// ParseJavaType parses a type name.
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

// String formats the type as the name it was parsed from.
func (t JavaType) String() string {
	name := t.Name + strings.Repeat(arraySuffix, t.Arrays)
	if t.Static {
		name = staticPrefix + name + staticSuffix
	}
	return name
}

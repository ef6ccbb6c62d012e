module github.com/tpconvert/tpconvert

go 1.26

package operators_test

import (
	"testing"

	"github.com/tpconvert/tpconvert/sqlfuncs/operators/operatorstest"
)

func TestCases(t *testing.T) { operatorstest.Cases(t) }

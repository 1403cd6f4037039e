package resque_test

import (
	"testing"

	"example.com/understudy/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

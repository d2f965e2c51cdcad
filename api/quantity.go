package api

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseCPU reads cores ("1.5") or thousandths of one ("500m"). The smallest a kernel schedules is 0.01, the largest
// here 100000.
func ParseCPU(text string) (float64, error) {
	number, milli := strings.CutSuffix(text, "m")
	if !isDecimal(number) {
		return 0, fmt.Errorf("%q is not a number of cores (1.5) or of thousandths (500m)", text)
	}
	cores, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number of cores", text)
	}
	if milli {
		cores /= 1000
	}
	if cores < 0.01 || cores > 100000 {
		return 0, fmt.Errorf("%q is outside 0.01 to 100000 cores", text)
	}
	return cores, nil
}

// memoryUnits are the suffixes of ParseMemory, longest first.
var memoryUnits = []struct {
	suffix string
	bytes  float64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
	{"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12},
}

// ParseMemory reads bytes, with K M G T as powers of 1000 and Ki Mi Gi Ti as powers of 1024; the number may be a
// fraction ("1.5Gi").
func ParseMemory(text string) (int64, error) {
	number, factor := text, 1.0
	for _, unit := range memoryUnits {
		if head, found := strings.CutSuffix(text, unit.suffix); found {
			number, factor = head, unit.bytes
			break
		}
	}
	if !isDecimal(number) || (factor == 1 && strings.Contains(number, ".")) {
		return 0, fmt.Errorf("%q is not a size: a number of bytes, or one with K, M, G, T, Ki, Mi, Gi or Ti behind it", text)
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || value*factor >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return int64(value * factor), nil
}

// ParseSize reads a size as docker writes it: a number with b, k, m, g or t behind it, any case, optionally followed by
// "b" or "ib"; all are powers of 1024. It is the form of shm_size and logs.max_size.
func ParseSize(text string) (int64, error) {
	lower := strings.ToLower(text)
	number := strings.TrimRight(lower, "bkmgti")
	factor, known := sizeUnits[lower[len(number):]]
	if !known || !isDecimal(number) {
		return 0, fmt.Errorf("%q is not a size: a number with b, k, m or g behind it, as in 64m", text)
	}
	value, err := strconv.ParseFloat(number, 64)
	if err != nil || value*factor >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is too large", text)
	}
	return int64(value * factor), nil
}

var sizeUnits = map[string]float64{
	"": 1, "b": 1,
	"k": 1 << 10, "kb": 1 << 10, "kib": 1 << 10,
	"m": 1 << 20, "mb": 1 << 20, "mib": 1 << 20,
	"g": 1 << 30, "gb": 1 << 30, "gib": 1 << 30,
	"t": 1 << 40, "tb": 1 << 40, "tib": 1 << 40,
}

// isDecimal reports whether text is digits with at most one point among them: no sign, exponent, Inf or NaN.
func isDecimal(text string) bool {
	digits, points := 0, 0
	for _, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits++
		case r == '.':
			points++
		default:
			return false
		}
	}
	return digits > 0 && points <= 1 && len(text) <= 32
}

package ruby

// nextLine is U+0085: Ruby took it for printable up to 3.1.
const nextLine = 0x85

// printable tells whether inspect of that Ruby writes a character above ASCII as it is.
func printable(r rune, form InspectForm) bool {
	if r == nextLine {
		return form < Inspect32
	}
	if !within(unprintable13, r) {
		return true
	}
	return form >= Inspect32 && within(printableSince15, r) || form >= Inspect34 && within(printableSince16, r)
}

// within looks a character up in a sorted table of ranges.
func within(table [][2]rune, r rune) bool {
	lo, hi := 0, len(table)
	for lo < hi {
		mid := (lo + hi) / 2
		switch {
		case r < table[mid][0]:
			hi = mid
		case r > table[mid][1]:
			lo = mid + 1
		default:
			return true
		}
	}
	return false
}

// Package spelling guesses what a misspelt name was meant to be.
package spelling

import "strings"

// Nearest is the known name with the fewest changes to the one written; the case
// of letters doesn't count. "": none is so near that it can be meant, which takes
// a change for every three letters, and three at most.
func Nearest(written string, known []string) string {
	const lettersAChange, mostChanges = 3, 3
	best, fewest := "", min((len(written)+1)/lettersAChange, mostChanges)+1
	for _, name := range known {
		d := distance(strings.ToLower(written), strings.ToLower(name))
		if d < fewest || d == fewest && best != "" && len(best) != len(written) && len(name) == len(written) {
			best, fewest = name, d
		}
	}
	return best
}

// distance is how many letters must be added, removed, replaced or swapped with
// their neighbour to turn a into b.
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

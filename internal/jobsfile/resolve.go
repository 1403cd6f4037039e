package jobsfile

import (
	"path/filepath"

	"example.com/understudy/internal/yamlfile"
)

// Resolve finds what the file only names; enqueueing needs none of it. Every
// program is then told by its absolute path: those with a slash from the folder
// of the file on, the others in PATH. Every ${NAME} in a header is then the value
// of that variable, which lookupEnv reads. What is missing, or can't be executed
// or sent, is a *LineError.
func (f *File) Resolve(lookupEnv func(name string) (value string, ok bool)) error {
	var problems []*LineError
	for i := range f.Jobs {
		job := &f.Jobs[i]
		if job.HTTP != nil {
			problems = append(problems, job.HTTP.resolve(f.Path, job.Class, lookupEnv)...)
			continue
		}
		path, err := locate(filepath.Dir(f.Path), job.Exec[0])
		if err != nil {
			problems = append(problems, &LineError{File: f.Path, Line: job.line, Text: job.Class + ": exec: " + err.Error()})
			continue
		}
		job.Exec = append([]string{path}, job.Exec[1:]...)
	}
	return yamlfile.Sort(problems)
}

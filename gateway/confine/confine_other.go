//go:build !linux

package confine

func enter(Needs) (Restrictions, error) {
	return Restrictions{Missing: []string{"Landlock and seccomp are services of Linux"}}, nil
}

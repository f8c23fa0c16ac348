package text

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/pgbox/pgbox/gateway/shell/getopt"
	"github.com/pgbox/pgbox/gateway/shell/proc"
	"github.com/pgbox/pgbox/gateway/shell/program"
	"github.com/pgbox/pgbox/gateway/vfs"
)

var tsortSpec = getopt.New("", "").WithUsage("[OPTION] [FILE]",
	"Write totally ordered list consistent with the partial ordering in FILE.")

type tsortItem struct {
	name       string
	before     int // items that have to come first and are not written yet
	written    bool
	successors []*tsortItem // latest first
	link       *tsortItem   // on the way back of the search for a loop
}

func tsort(_ context.Context, p *proc.Process) int {
	_, args := tsortSpec.Parse(p)
	program.NoOperand(p, tsortSpec, args, 1)
	name := "-"
	if len(args) > 0 {
		name = args[0]
	}
	r, err := p.OpenInput(name)
	if err != nil {
		p.Errorf("%s: %s", program.QuoteColon(name), proc.Strerror(err))
		return 1
	}
	defer r.Close()
	data, err := p.ReadAll(r)
	if err != nil && !errors.Is(err, vfs.EISDIR) {
		p.Errorf("%s: read error: %s", program.QuoteColon(name), proc.Strerror(err))
		return 1
	}
	items := map[string]*tsortItem{}
	var all []*tsortItem
	find := func(word []byte) *tsortItem {
		it := items[string(word)]
		if it == nil {
			p.Hold(96 + len(word))
			it = &tsortItem{name: string(word)}
			items[it.name] = it
			all = append(all, it)
		}
		return it
	}
	words := bytes.FieldsFunc(data, func(c rune) bool { return c == ' ' || c == '\t' || c == '\n' })
	if len(words)%2 != 0 {
		shown := program.QuoteColon(name)
		p.Errorf("%s: input contains an odd number of tokens", shown)
		return 1
	}
	for i := 0; i < len(words); i += 2 {
		p.Tick(1)
		a, b := find(words[i]), find(words[i+1])
		if a != b {
			p.Hold(8)
			a.successors = append(a.successors, b)
			b.before++
		}
	}
	return tsortWrite(p, name, all)
}

func tsortWrite(p *proc.Process, name string, all []*tsortItem) int {
	// The tree of names is walked in order, so that those which are ready at the same time come sorted.
	p.Tick(len(all))
	slices.SortFunc(all, func(a, b *tsortItem) int { return strings.Compare(a.name, b.name) })
	status, left := 0, len(all)
	var queue []*tsortItem
	for left > 0 {
		queue = queue[:0]
		for _, it := range all {
			if it.before == 0 && !it.written {
				queue = append(queue, it)
			}
		}
		for k := 0; k < len(queue); k++ {
			it := queue[k]
			p.Tick(1)
			p.Out.WriteString(it.name + "\n")
			it.written = true
			left--
			for s := len(it.successors) - 1; s >= 0; s-- {
				next := it.successors[s]
				if next.before--; next.before == 0 {
					queue = append(queue, next)
				}
			}
		}
		if left > 0 {
			p.Errorf("%s: input contains a loop:", program.QuoteColon(name))
			status = 1
			breakLoop(p, all)
		}
	}
	return status
}

// breakLoop finds a loop among what is not written, prints it and removes one of its relations. It follows successors
// back from an item until it meets one a second time.
func breakLoop(p *proc.Process, all []*tsortItem) {
	var loop *tsortItem
	for {
		for _, it := range all {
			p.Tick(1)
			if it.before == 0 || it.written {
				continue
			}
			if loop == nil {
				loop = it
				continue
			}
			for s := len(it.successors) - 1; s >= 0; s-- {
				if it.successors[s] != loop {
					continue
				}
				if it.link != nil {
					// Back at an item of the chain: from loop to it and round again.
					for loop != nil {
						next := loop.link
						p.Errorf("%s", loop.name)
						if loop == it {
							it.successors[s].before--
							it.successors = append(it.successors[:s], it.successors[s+1:]...)
							break
						}
						loop.link = nil
						loop = next
					}
					for _, x := range all {
						x.link = nil
					}
					return
				}
				it.link = loop
				loop = it
				break
			}
		}
	}
}

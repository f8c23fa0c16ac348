package awk

// generator is the source of rand(): gawk's, so that a seed gives the same numbers. It is the additive feedback
// generator of BSD's random(3) with 63 words (x[n] = x[n-63] + x[n-62]), seeded by the minimal standard of
// Park and Miller, behind the shuffle of Bays and Durham.
type generator struct {
	state       [63]uint32
	front, back int
	shuffle     [512]uint32
	last        uint32
}

const generatorWarmUp = 10 * 63

func newGenerator(seed uint32) *generator {
	g := &generator{front: 1}
	for i := range g.state {
		g.state[i] = seed
		seed = minimalStandard(seed)
	}
	for i := range g.shuffle {
		g.shuffle[i] = g.raw()
	}
	g.last = g.raw()
	for range generatorWarmUp {
		g.next()
	}
	return g
}

// minimalStandard is 16807·x modulo 2³¹-1 in the arithmetic of signed 32-bit words.
func minimalStandard(seed uint32) uint32 {
	x := int32(seed)
	if x == 0 {
		x = 123459876
	}
	if x = 16807*(x%127773) - 2836*(x/127773); x < 0 {
		x += 1<<31 - 1
	}
	return uint32(x)
}

func (g *generator) raw() uint32 {
	g.state[g.front] += g.state[g.back]
	r := g.state[g.front] >> 1
	g.front = (g.front + 1) % len(g.state)
	g.back = (g.back + 1) % len(g.state)
	return r
}

func (g *generator) next() uint32 {
	r := g.raw()
	k := g.last % uint32(len(g.shuffle))
	g.last = g.shuffle[k]
	g.shuffle[k] = r
	return g.last
}

// float is a number in [0, 1) of two numbers in [0, 2³¹).
func (g *generator) float() float64 {
	for {
		low := float64(g.next())
		high := float64(g.next())
		// Adding a half drops the bits that a number near one does not have.
		f := 0.5 + (low/(1<<31)+high)/(1<<31)
		if f -= 0.5; f != 1 {
			return f
		}
	}
}

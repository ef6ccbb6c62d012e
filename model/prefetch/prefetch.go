// Package prefetch tells the processor what will be read soon, which spares the
// wait for memory where addresses are known early.
package prefetch

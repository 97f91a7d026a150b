package pgcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
)

// begin starts the server for the first time, at a port of its own.
func (c *Cluster) begin(ctx context.Context) (err error) {
	const tries = 5
	for n := range tries {
		if err = c.choose(ctx, n == 0); err != nil {
			return err
		}
		if err = c.Resume(ctx); err == nil || ctx.Err() != nil {
			return err
		}
		if e := errors.Join(c.Stop(Immediate), c.release()); e != nil { // somebody may have taken the port meanwhile
			return errors.Join(err, e)
		}
	}
	return err
}

// choose chooses a port. Where that can be done it is held from now on, while the server is stopped too: nobody else is given
// it, neither to listen at nor to connect from.
func (c *Cluster) choose(ctx context.Context, hold bool) (err error) {
	if hold && runtime.GOOS == "linux" {
		c.port, c.held, err = heldPort()
		return err
	}
	c.port, err = freePort(ctx)
	return err
}

func (c *Cluster) release() error {
	if c.held == nil {
		return nil
	}
	err := c.held.Close()
	c.held = nil
	return err
}

// heldPort gives a port to which a socket is bound until held is closed. It never listens, and says that the address may be
// used again; so does PostgreSQL, which thereby may listen there, and nobody who has a port chosen for him is given this one.
func heldPort() (port int, held io.Closer, err error) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return 0, nil, os.NewSyscallError("socket", err)
	}
	syscall.CloseOnExec(fd)
	held = os.NewFile(uintptr(fd), "port")
	err = errors.Join(
		os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)),
		os.NewSyscallError("bind", syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})),
	)
	name, e := syscall.Getsockname(fd)
	if err = errors.Join(err, os.NewSyscallError("getsockname", e)); err != nil {
		return 0, nil, errors.Join(err, held.Close())
	}
	address, ok := name.(*syscall.SockaddrInet4)
	if !ok {
		return 0, nil, errors.Join(fmt.Errorf("no address: %v", name), held.Close())
	}
	return address.Port, held, nil
}

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	addr, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return 0, fmt.Errorf("no TCP address: %v", l.Addr())
	}
	return addr.Port, l.Close()
}

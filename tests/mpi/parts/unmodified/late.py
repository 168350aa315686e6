# Rank 1 waits for messages of rank 0, which sleeps first, while another thread of each process runs Python code.
# Prints its result, and what it measured itself: seconds from receive to send, and MPI calls of both ranks.
import array
import threading
import time

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank = comm.Get_rank()
STEPS = 8
own = array.array("d", [0.0])
running = True


def beside():
    def deeper(level):
        return level if level == 0 else deeper(level - 1)
    while running:
        deeper(20)
        time.sleep(0.001)


def receive(values):
    own[0] -= time.monotonic()
    comm.Recv([values, MPI.INT], source=0, tag=7)  # the receive


def step():
    global values
    if rank == 0:
        time.sleep(0.025)
        own[0] += time.monotonic()
        comm.Send([values, MPI.INT], dest=1, tag=7)  # the late send
    else:
        receive(values)
    others = array.array("i", [0] * 100)
    requests = [comm.Isend([values, MPI.INT], dest=1 - rank, tag=8), comm.Irecv([others, MPI.INT], source=1 - rank, tag=8)]
    MPI.Request.Waitall(requests)
    comm.Allreduce(MPI.IN_PLACE, [others, MPI.INT], op=MPI.SUM)
    values = array.array("i", [(a + b) % 1000 for a, b in zip(values, others)])


thread = threading.Thread(target=beside)
thread.start()
values = array.array("i", [rank + 1] * 100)
for _ in range(STEPS):
    step()
waited = array.array("d", [0.0])
comm.Reduce(own, waited, op=MPI.SUM, root=0)
running = False
thread.join()
if rank == 0:
    print("result", sum(values))
    print(f"measured {waited[0]:.9f} s, calls {2 * (3 + STEPS * 5)}")

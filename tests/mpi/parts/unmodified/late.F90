! Rank 1 waits for messages of rank 0, which sleeps first. Built without whywait, with each of the three Fortran bindings;
! MARKED adds marks.
! Prints its result, and what it measured itself: seconds from receive to send, and MPI calls of both ranks.
program late
#if defined(BINDING_F08)
  use mpi_f08
#elif defined(BINDING_MPI)
  use mpi
#endif
  use iso_c_binding
#ifdef MARKED
  use whywait
#endif
  implicit none
#if !defined(BINDING_F08) && !defined(BINDING_MPI)
  include 'mpif.h'
#endif
  interface
    function usleep(microseconds) bind(c)
      import
      integer(c_int), value :: microseconds
      integer(c_int) :: usleep
    end function
  end interface
  integer, parameter :: steps = 8
  integer :: rank, error, step, values(100), others(100), ignored
  integer(c_int64_t) :: ticks, ticks_per_second
  double precision :: own, waited
#ifdef BINDING_F08
  type(MPI_Request) :: requests(2)
  type(MPI_Status) :: state
#else
  integer :: requests(2), state(MPI_STATUS_SIZE)
#endif
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  values = rank + 1
  own = 0
  do step = 1, steps
    if (rank == 0) then
#ifdef MARKED
      call whywait_begin('plan')
      call whywait_next('prepare', __FILE__, __LINE__)
      call whywait_work(step)
      call whywait_block('part  ')
#endif
      ignored = usleep(25000_c_int)
#ifdef MARKED
      call whywait_end('prepare')
      call whywait_wait('nothing')
      call whywait_end('nothing')
#endif
      call system_clock(ticks, ticks_per_second)
      own = own + dble(ticks) / dble(ticks_per_second)
      call MPI_Send(values, 100, MPI_INTEGER, 1, 7, MPI_COMM_WORLD, error) ! the late send
    else
      call system_clock(ticks, ticks_per_second)
      own = own - dble(ticks) / dble(ticks_per_second)
      call MPI_Recv(values, 100, MPI_INTEGER, 0, 7, MPI_COMM_WORLD, state, error) ! the receive
    end if
    call MPI_Isend(values, 100, MPI_INTEGER, 1 - rank, 8, MPI_COMM_WORLD, requests(1), error)
    call MPI_Irecv(others, 100, MPI_INTEGER, 1 - rank, 8, MPI_COMM_WORLD, requests(2), error)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, error)
    call MPI_Allreduce(MPI_IN_PLACE, others, 100, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    values = mod(values + others, 1000)
  end do
  call MPI_Reduce(own, waited, 1, MPI_DOUBLE_PRECISION, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) then
    print '(a,i0)', 'result ', sum(values)
    print '(a,f12.9,a,i0)', 'measured ', waited, ' s, calls ', 2 * (3 + steps * 5)
  end if
  call MPI_Finalize(error)
end program

! Marks for Fortran 2008: compile this file with the program. Nothing else is linked. Without a recorder in the process
! (`whywait run`, or a linked object of cmake/observe.cpp) the marks do nothing.
!
!     use whywait
!     call whywait_begin('assemble')             begins a region; about 60 ns with a recorder
!     call whywait_next('solve')                 ends the innermost region and begins another one
!     call whywait_block('refine')               counts a visit of a block
!     call whywait_work(cells)                   adds work units (integer or real) to the innermost region
!     call whywait_wait('disk')                  begins a region that waits for something whywait cannot see
!     call whywait_end('disk')                   ends the innermost region of that name
!
! Names may have trailing blanks; at most 500 characters count. File and line are optional, for preprocessed sources:
! call whywait_begin('assemble', __FILE__, __LINE__). Any thread.
module whywait
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: whywait_begin, whywait_end, whywait_next, whywait_block, whywait_work, whywait_wait

  interface whywait_work
    module procedure work_int32, work_int64, work_float, work_double
  end interface

  ! The rest of this part mirrors core/module.hpp and record/marks.hpp. A test compares them.
  integer(c_int32_t), parameter :: version = 2, interface_number = 3
  integer, parameter :: functions_before = 10

  type, bind(C) :: module_card
    integer(c_int32_t) :: version, interface_number
    integer(c_intptr_t) :: attach, shared, here
    type(c_ptr) :: functions
    integer(c_int32_t) :: loaded
  end type

  abstract interface
    subroutine mark_function(what, name, size, file, line, units) bind(C)
      import
      integer(c_int32_t), value :: what, line
      character(kind=c_char), intent(in) :: name(*), file(*)
      integer(c_size_t), value :: size
      integer(c_int64_t), value :: units
    end subroutine
  end interface

  ! dl_phdr_info and the program header of a 64-bit ELF file
  type, bind(C) :: loaded_module
    integer(c_intptr_t) :: address
    type(c_ptr) :: name, headers
    integer(c_int16_t) :: header_count
  end type
  type, bind(C) :: program_header
    integer(c_int32_t) :: kind, flags
    integer(c_int64_t) :: offset, address, physical, file_size, memory_size, alignment
  end type
  interface
    function iterate_modules(visit, found) bind(C, name='dl_iterate_phdr') result(last)
      import
      type(c_funptr), value :: visit
      type(c_ptr), value :: found
      integer(c_int) :: last
    end function
  end interface

  procedure(mark_function), pointer, save :: recorder => null()
  logical, save :: searched = .false.

contains

  subroutine whywait_begin(name, file, line)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    call mark(0_c_int32_t, name, file, line)
  end subroutine

  subroutine whywait_end(name)
    character(len=*), intent(in) :: name
    call mark(1_c_int32_t, name)
  end subroutine

  subroutine whywait_next(name, file, line)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    call mark(2_c_int32_t, name, file, line)
  end subroutine

  subroutine whywait_block(name, file, line)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    call mark(3_c_int32_t, name, file, line)
  end subroutine

  subroutine whywait_wait(name, file, line)
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    call mark(5_c_int32_t, name, file, line)
  end subroutine

  subroutine work_int64(units)
    integer(c_int64_t), intent(in) :: units
    if (.not. searched) call search()
    if (.not. associated(recorder)) return
    call recorder(4_c_int32_t, c_null_char, 0_c_size_t, c_null_char, 0_c_int32_t, max(units, 0_c_int64_t))
  end subroutine
  subroutine work_int32(units)
    integer(c_int32_t), intent(in) :: units
    call work_int64(int(units, c_int64_t))
  end subroutine
  subroutine work_double(units)
    real(c_double), intent(in) :: units
    call work_int64(int(units, c_int64_t))
  end subroutine
  subroutine work_float(units)
    real(c_float), intent(in) :: units
    call work_int64(int(units, c_int64_t))
  end subroutine

  subroutine mark(what, name, file, line)
    integer(c_int32_t), intent(in) :: what
    character(len=*), intent(in) :: name
    character(len=*), intent(in), optional :: file
    integer, intent(in), optional :: line
    integer(c_int32_t) :: at
    if (.not. searched) call search()
    if (.not. associated(recorder)) return
    at = 0
    if (present(line)) at = int(line, c_int32_t)
    if (present(file)) then
      call recorder(what, name, len_trim(name, c_size_t), trim(file)//c_null_char, at, 0_c_int64_t)
    else
      call recorder(what, name, len_trim(name, c_size_t), c_null_char, at, 0_c_int64_t)
    end if
  end subroutine

  ! Looks for the card of a recorder, to which an ELF note of its module points.
  subroutine search()
    integer(c_int) :: ignored
    ignored = iterate_modules(c_funloc(visit), c_null_ptr)
    searched = .true.
  end subroutine

  function visit(module_info, size, found) bind(C) result(done)
    type(loaded_module), intent(in) :: module_info
    integer(c_size_t), value :: size
    type(c_ptr), value :: found
    integer(c_int) :: done
    type(program_header), pointer :: headers(:)
    character(kind=c_char), pointer :: name(:)
    integer(c_int32_t), pointer :: sizes(:), distance
    integer(c_intptr_t) :: note, end_of_notes, content, align
    integer :: i
    done = 0
    if (size == 0 .or. c_associated(found)) return
    call c_f_pointer(module_info%headers, headers, [int(module_info%header_count)])
    do i = 1, int(module_info%header_count)
      if (headers(i)%kind /= 4) cycle ! PT_NOTE
      align = merge(7, 3, headers(i)%alignment == 8)
      note = module_info%address + int(headers(i)%address, c_intptr_t)
      end_of_notes = note + int(headers(i)%memory_size, c_intptr_t)
      do while (note + 12 <= end_of_notes)
        call c_f_pointer(pointer_to(note), sizes, [3]) ! of the name, of the content, and the type
        call c_f_pointer(pointer_to(note + 12), name, [8])
        content = note + 12 + iand(sizes(1) + align, not(align))
        note = content + iand(sizes(2) + align, not(align))
        if (any(sizes /= [8, 4, 2])) cycle
        if (any(name /= ['w', 'h', 'y', 'w', 'a', 'i', 't', c_null_char])) cycle
        call c_f_pointer(pointer_to(content), distance)
        if (.not. is_recorder(content + distance)) cycle
        done = 1
        return
      end do
    end do
  end function

  logical function is_recorder(address)
    integer(c_intptr_t), intent(in) :: address
    type(module_card), pointer :: card
    type(c_funptr), pointer :: functions(:)
    call c_f_pointer(pointer_to(address), card)
    is_recorder = card%version / 1000 == version .and. card%interface_number == interface_number .and. &
                  card%attach /= 0 .and. card%here /= 0
    if (.not. is_recorder) return
    call c_f_pointer(card%functions, functions, [functions_before + 1])
    call c_f_procpointer(functions(functions_before + 1), recorder)
  end function

  pure type(c_ptr) function pointer_to(address)
    integer(c_intptr_t), intent(in) :: address
    pointer_to = transfer(address, pointer_to)
  end function

end module

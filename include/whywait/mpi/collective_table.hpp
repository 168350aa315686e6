#ifndef WHYWAIT_MPI_COLLECTIVE_TABLE_HPP
#define WHYWAIT_MPI_COLLECTIVE_TABLE_HPP

#include <whywait/mpi/mpi_header.hpp>

// The collectives: name, name of the nonblocking form, parameters and arguments without `comm` and what follows it, and
// the facts with the receive argument if it decides which members are needed. `count_type` and `offset_type` (displacements
// and units) are `int`, and MPI_Count and MPI_Aint in the forms with large counts (MPI_Bcast_c).
// collective_wrappers.hpp makes the wrappers of all forms and undefines the macros. The blocking form of a frequent collective
// has a function of its own, which is faster; those of the others share one.
// clang-format off

#define WHYWAIT_MPI_FREQUENT_COLLECTIVES(F)                                                                              \
  F(Bcast, Ibcast,                                                                                                       \
    (void* buffer, count_type count, MPI_Datatype type, int root),                                                       \
    (buffer, count, type, root),                                                                                         \
    (broadcast_facts{one(buffer, count, type), root}, part{}))                                                           \
  F(Reduce, Ireduce,                                                                                                     \
    (const void* sendbuf, void* recvbuf, count_type count, MPI_Datatype type, MPI_Op op, int root),                      \
    (sendbuf, recvbuf, count, type, op, root),                                                                           \
    (gather_facts{one(sendbuf, count, type), one(recvbuf, count, type), root, true}, part{}))                            \
  F(Allreduce, Iallreduce,                                                                                               \
    (const void* sendbuf, void* recvbuf, count_type count, MPI_Datatype type, MPI_Op op),                                \
    (sendbuf, recvbuf, count, type, op),                                                                                 \
    (all_facts{one(sendbuf, count, type), one(recvbuf, count, type), true}, part{}))

#define WHYWAIT_MPI_RARE_COLLECTIVES(F)                                                                                  \
  F(Gather, Igather,                                                                                                     \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype, int root),                                                                                   \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root),                                                  \
    (gather_facts{one(sendbuf, sendcount, sendtype), one(recvbuf, recvcount, recvtype), root, false}, part{}))           \
  F(Gatherv, Igatherv,                                                                                                   \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf,                                    \
     const count_type recvcounts[], const offset_type displs[], MPI_Datatype recvtype, int root),                        \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype, root),                                         \
    (gather_facts{one(sendbuf, sendcount, sendtype), each(recvbuf, recvcounts, displs, recvtype), root, false},          \
     part{}))                                                                                                            \
  F(Scatter, Iscatter,                                                                                                   \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype, int root),                                                                                   \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root),                                                  \
    (scatter_facts{one(sendbuf, sendcount, sendtype), one(recvbuf, recvcount, recvtype), root}, part{}))                 \
  F(Scatterv, Iscatterv,                                                                                                 \
    (const void* sendbuf, const count_type sendcounts[], const offset_type displs[], MPI_Datatype sendtype,              \
     void* recvbuf, count_type recvcount, MPI_Datatype recvtype, int root),                                              \
    (sendbuf, sendcounts, displs, sendtype, recvbuf, recvcount, recvtype, root),                                         \
    (scatter_facts{each(sendbuf, sendcounts, displs, sendtype), one(recvbuf, recvcount, recvtype), root}, part{}))       \
  F(Allgather, Iallgather,                                                                                               \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype),                                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),                                                        \
    (all_facts{one(sendbuf, sendcount, sendtype), one(recvbuf, recvcount, recvtype), false}, part{}))                    \
  F(Allgatherv, Iallgatherv,                                                                                             \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf,                                    \
     const count_type recvcounts[], const offset_type displs[], MPI_Datatype recvtype),                                  \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),                                               \
    (all_facts{one(sendbuf, sendcount, sendtype), each(recvbuf, recvcounts, displs, recvtype), false}, part{}))          \
  F(Alltoall, Ialltoall,                                                                                                 \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype),                                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),                                                        \
    (exchange_facts{one(sendbuf, sendcount, sendtype), one(recvbuf, recvcount, recvtype)}, part{}))                      \
  F(Alltoallv, Ialltoallv,                                                                                               \
    (const void* sendbuf, const count_type sendcounts[], const offset_type sdispls[], MPI_Datatype sendtype,             \
     void* recvbuf, const count_type recvcounts[], const offset_type rdispls[], MPI_Datatype recvtype),                  \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),                                    \
    (exchange_facts{each(sendbuf, sendcounts, sdispls, sendtype), each(recvbuf, recvcounts, rdispls, recvtype)},         \
     each(recvbuf, recvcounts, rdispls, recvtype)))                                                                      \
  F(Alltoallw, Ialltoallw,                                                                                               \
    (const void* sendbuf, const count_type sendcounts[], const offset_type sdispls[],                                    \
     const MPI_Datatype sendtypes[], void* recvbuf, const count_type recvcounts[], const offset_type rdispls[],          \
     const MPI_Datatype recvtypes[]),                                                                                    \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),                                  \
    (exchange_facts{each(sendbuf, sendcounts, sdispls, sendtypes), each(recvbuf, recvcounts, rdispls, recvtypes)},       \
     each(recvbuf, recvcounts, rdispls, recvtypes)))                                                                     \
  F(Reduce_scatter, Ireduce_scatter,                                                                                     \
    (const void* sendbuf, void* recvbuf, const count_type recvcounts[], MPI_Datatype type, MPI_Op op),                   \
    (sendbuf, recvbuf, recvcounts, type, op),                                                                            \
    (reduce_scatter_facts{each(or_other(sendbuf, recvbuf), recvcounts, type), each(recvbuf, recvcounts, type)},          \
     part{}))                                                                                                            \
  F(Reduce_scatter_block, Ireduce_scatter_block,                                                                         \
    (const void* sendbuf, void* recvbuf, count_type recvcount, MPI_Datatype type, MPI_Op op),                            \
    (sendbuf, recvbuf, recvcount, type, op),                                                                             \
    (reduce_scatter_facts{one(or_other(sendbuf, recvbuf), recvcount, type), one(recvbuf, recvcount, type)}, part{}))     \
  F(Scan, Iscan,                                                                                                         \
    (const void* sendbuf, void* recvbuf, count_type count, MPI_Datatype type, MPI_Op op),                                \
    (sendbuf, recvbuf, count, type, op),                                                                                 \
    (scan_facts{one(sendbuf, count, type), one(recvbuf, count, type)}, part{}))                                          \
  F(Exscan, Iexscan,                                                                                                     \
    (const void* sendbuf, void* recvbuf, count_type count, MPI_Datatype type, MPI_Op op),                                \
    (sendbuf, recvbuf, count, type, op),                                                                                 \
    (scan_facts{one(sendbuf, count, type), one(recvbuf, count, type)}, part{}))

#define WHYWAIT_MPI_COLLECTIVES(F) WHYWAIT_MPI_FREQUENT_COLLECTIVES(F) WHYWAIT_MPI_RARE_COLLECTIVES(F)

#define WHYWAIT_MPI_NEIGHBOURS(F)                                                                                        \
  F(Neighbor_allgather, Ineighbor_allgather,                                                                             \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype),                                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),                                                        \
    (neighbour_facts{one(sendbuf, sendcount, sendtype), one(recvbuf, recvcount, recvtype)}, part{}))                     \
  F(Neighbor_allgatherv, Ineighbor_allgatherv,                                                                           \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf,                                    \
     const count_type recvcounts[], const offset_type displs[], MPI_Datatype recvtype),                                  \
    (sendbuf, sendcount, sendtype, recvbuf, recvcounts, displs, recvtype),                                               \
    (neighbour_facts{one(sendbuf, sendcount, sendtype), each(recvbuf, recvcounts, displs, recvtype)}, part{}))           \
  F(Neighbor_alltoall, Ineighbor_alltoall,                                                                               \
    (const void* sendbuf, count_type sendcount, MPI_Datatype sendtype, void* recvbuf, count_type recvcount,              \
     MPI_Datatype recvtype),                                                                                             \
    (sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype),                                                        \
    (neighbour_facts{one(sendbuf, sendcount, sendtype), one(recvbuf, recvcount, recvtype)}, part{}))                     \
  F(Neighbor_alltoallv, Ineighbor_alltoallv,                                                                             \
    (const void* sendbuf, const count_type sendcounts[], const offset_type sdispls[], MPI_Datatype sendtype,             \
     void* recvbuf, const count_type recvcounts[], const offset_type rdispls[], MPI_Datatype recvtype),                  \
    (sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype),                                    \
    (neighbour_facts{each(sendbuf, sendcounts, sdispls, sendtype), each(recvbuf, recvcounts, rdispls, recvtype)},        \
     part{}))                                                                                                            \
  F(Neighbor_alltoallw, Ineighbor_alltoallw,                                                                             \
    (const void* sendbuf, const count_type sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[],       \
     void* recvbuf, const count_type recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[]),            \
    (sendbuf, sendcounts, sdispls, sendtypes, recvbuf, recvcounts, rdispls, recvtypes),                                  \
    (neighbour_facts{each(sendbuf, sendcounts, sdispls, sendtypes), each(recvbuf, recvcounts, rdispls, recvtypes)},      \
     part{}))
// clang-format on

#endif

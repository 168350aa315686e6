#ifndef WHYWAIT_EXPLAIN_TRANSPORT_CALLS_HPP
#define WHYWAIT_EXPLAIN_TRANSPORT_CALLS_HPP

#include <whywait/base/packet.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace whywait {
inline namespace v0 {
namespace explain {

// Type erasure of a transport and of the functions that it exchanges with the engine. The engine is compiled once, for
// any number of transports.

/// A borrowed callable; its target must outlive the last call.
template <class Signature>
class borrowed;
template <class Result, class... Args>
class borrowed<Result(Args...)> {
 public:
  template <class Function, std::enable_if_t<!std::is_same<std::decay_t<Function>, borrowed>::value, int> = 0>
  [[gnu::always_inline]] borrowed(Function&& function) noexcept
      : function_(const_cast<void*>(static_cast<const void*>(&function))), call_(&call<std::remove_reference_t<Function>>) {}
  Result operator()(Args... args) const { return call_(function_, std::forward<Args>(args)...); }

 private:
  template <class Function>
  static Result call(void* function, Args... args) {
    return (*static_cast<Function*>(function))(static_cast<Args&&>(args)...);
  }

  void* function_;
  Result (*call_)(void*, Args...);
};

/// to(rank): the packet under construction for that rank.
using outbox_call = borrowed<base::packet&(std::int32_t)>;
/// post(rank, packet): sends the packet at once.
using post_call = borrowed<void(std::int32_t, const base::packet&)>;

/// Any transport; `explain` documents the functions.
class transport_calls {
 public:
  using take_call = borrowed<void(std::int32_t, const unsigned char*, std::size_t)>;
  using receive_call = borrowed<void(std::int32_t, std::int32_t, const unsigned char*, std::size_t)>;
  using pack_call = borrowed<base::packet(std::int32_t)>;

  virtual std::int64_t minimum(borrowed<std::int64_t(std::int32_t)> value) = 0;
  virtual void exchange(borrowed<void(std::int32_t, outbox_call, std::size_t)> produce, receive_call consume) = 0;
  virtual void forward(borrowed<bool(std::int32_t, post_call)> advance, receive_call receive) = 0;
  virtual void reduce(pack_call pack, take_call merge) = 0;
  virtual void broadcast(pack_call pack, take_call take) = 0;

  /// Returns when all ranks have called it.
  void wait_for_all() {
    minimum([](std::int32_t) { return std::int64_t{0}; });
  }

 protected:
  ~transport_calls() = default;
};

/// Adapts one transport type; borrows the transport.
template <class Transport>
class transport_calls_of final : public transport_calls {
 public:
  explicit transport_calls_of(Transport& transport) : transport_(&transport) {}

  std::int64_t minimum(borrowed<std::int64_t(std::int32_t)> value) override { return transport_->minimum(value); }
  void exchange(borrowed<void(std::int32_t, outbox_call, std::size_t)> produce, receive_call consume) override {
    transport_->exchange([&](std::int32_t i, auto&& to, std::size_t room) { produce(i, outbox_call(to), room); }, consume);
  }
  void forward(borrowed<bool(std::int32_t, post_call)> advance, receive_call receive) override {
    transport_->forward([&](std::int32_t i, auto&& post) { return advance(i, post_call(post)); }, receive);
  }
  void reduce(pack_call pack, take_call merge) override { transport_->reduce(pack, merge); }
  void broadcast(pack_call pack, take_call take) override { transport_->broadcast(pack, take); }

 private:
  Transport* transport_;
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif

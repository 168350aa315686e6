#ifndef WHYWAIT_MODELS_TOKEN_GAME_HPP
#define WHYWAIT_MODELS_TOKEN_GAME_HPP

#include <whywait/models/program.hpp>

#include <cstdint>
#include <cstring>
#include <vector>

namespace whywait {
inline namespace v0 {
namespace models {
namespace detail {

/// Thrown when a count overflows its bit field; the caller widens the field and restarts.
struct field_overflow {
  std::uint32_t field;
};

/// The rules of the program domain on packed states `T ; O ; IOS`. Fields have 1, 2, 4, 8 or 16 bits, active customers
/// first. A state has `words()` 64-bit words.
class token_game {
 public:
  using word = std::uint64_t;

  /// `bits[f]` is the width of field f; missing widths are 1.
  token_game(const program& p, const std::vector<std::uint8_t>& bits) : p_(p) {
    fields_.resize(p.tasks.size() + p.packets.size() + p.counters);
    std::uint32_t at = 0;
    auto lay = [&](std::size_t f) {
      const std::uint32_t width = f < bits.size() ? bits[f] : 1u;
      at = (at + width - 1) / width * width;  // widths are powers of two, so that no field crosses a word
      fields_[f] = {at / 64, at % 64, (word(1) << width) - 1};
      at += width;
      owner_.resize(at, 0);
      owner_[at - width] = static_cast<std::uint32_t>(f);
      for (std::uint32_t b = at - width; b != at; ++b) owner_[b] = static_cast<std::uint32_t>(f);
    };
    for (std::size_t i = 0; i != p.tasks.size(); ++i)
      if (!p.tasks[i].immediate) lay(i);
    for (std::size_t i = 0; i != p.packets.size(); ++i) lay(p.tasks.size() + i);
    active_bits_ = at;
    for (std::size_t i = 0; i != p.counters; ++i) lay(p.tasks.size() + p.packets.size() + i);
    words_ = at / 64 + 1;
    if (at % 64 == 0 && at != 0) words_ = at / 64;
  }

  std::size_t words() const noexcept { return words_; }
  const program& source() const noexcept { return p_; }

  /// Calls each(field, count) for every active task and packet; packets have fields from tasks.size().
  template <class F>
  void each_active(const word* s, F&& each) const {
    for (std::uint32_t w = 0; w * 64 < active_bits_; ++w) {
      word left = active(s, w);
      while (left != 0) {
        const std::uint32_t f = owner_[w * 64 + static_cast<std::uint32_t>(__builtin_ctzll(left))];
        const field& x = fields_[f];
        each(f, static_cast<std::uint32_t>(left >> x.shift & x.mask));
        left &= ~(x.mask << x.shift);
      }
    }
  }

  bool finished(const word* s) const noexcept {
    for (std::uint32_t w = 0; w * 64 < active_bits_; ++w)
      if (active(s, w) != 0) return false;
    return true;
  }

  /// Whether a state without active customers has incomplete operand sets.
  bool leftover(const word* s) const noexcept {
    for (std::size_t w = 0; w != words_; ++w)
      if (s[w] != 0) return true;
    return false;
  }

  /// Calls arrive(state, probability) for every initial state of the program.
  template <class F>
  void begin(F&& arrive) const {
    std::vector<word> s(words_, 0);
    std::vector<std::uint32_t> pending;
    for (const std::uint32_t i : p_.start) enable(s.data(), i, pending);
    settle(s.data(), pending, 1.0, arrive);
  }

  /// Calls arrive(customer, weight, state) for every arc out of a state. Customer is c for tasks of class c and
  /// classes.size() + m for module m; weight is the number of customers times the probability (Kapelnikov et al. 1987,
  /// 4.2, 4.3).
  template <class F>
  void successors(const word* s, F&& arrive) const {
    thread_local std::vector<word> next;
    thread_local std::vector<std::uint32_t> pending;
    next.resize(words_);
    const std::uint32_t tasks = static_cast<std::uint32_t>(p_.tasks.size());
    each_active(s, [&](std::uint32_t f, std::uint32_t count) {
      if (f < tasks) {
        const program_task& t = p_.tasks[f];
        for (const task_outcome& o : t.outcomes) {
          std::memcpy(next.data(), s, words_ * sizeof(word));
          take(next.data(), f);
          pending.clear();
          if (p_.packets.empty()) {
            for (const token_delivery& d : o.deliveries) deliver(next.data(), d, pending);
          } else {
            for (const std::uint32_t k : o.packets) put(next.data(), tasks + k);
          }
          const double weight_of_arc = count * o.probability;
          if (pending.empty()) arrive(t.task_class, weight_of_arc, next.data());
          else settle(next.data(), pending, weight_of_arc, [&](const word* x, double w) { arrive(t.task_class, w, x); });
        }
      } else {
        const packet_type& packet = p_.packets[f - tasks];
        std::memcpy(next.data(), s, words_ * sizeof(word));
        take(next.data(), f);
        pending.clear();
        for (const token_delivery& d : packet.deliveries) deliver(next.data(), d, pending);
        arrive(static_cast<std::uint32_t>(p_.classes.size()) + packet.module, double(count), next.data());
      }
    });
  }

 private:
  struct field {
    std::uint32_t at = 0, shift = 0;
    word mask = 0;
  };

  word active(const word* s, std::uint32_t w) const noexcept {
    const std::uint32_t rest = active_bits_ - w * 64;
    return rest >= 64 ? s[w] : s[w] & ((word(1) << rest) - 1);
  }
  word get(const word* s, std::uint32_t f) const noexcept { return s[fields_[f].at] >> fields_[f].shift & fields_[f].mask; }
  void take(word* s, std::uint32_t f) const noexcept { s[fields_[f].at] -= word(1) << fields_[f].shift; }
  void put(word* s, std::uint32_t f) const {
    if (get(s, f) == fields_[f].mask) throw field_overflow{f};
    s[fields_[f].at] += word(1) << fields_[f].shift;
  }

  void enable(word* s, std::uint32_t i, std::vector<std::uint32_t>& pending) const {
    if (p_.tasks[i].immediate) pending.push_back(i);
    else put(s, i);
  }

  void deliver(word* s, const token_delivery& d, std::vector<std::uint32_t>& pending) const {
    const std::uint32_t first = static_cast<std::uint32_t>(p_.tasks.size() + p_.packets.size());
    for (std::uint32_t k = 0; k != d.entries; ++k) {
      token_entry at = p_.entries[d.first_entry + k];
      while (at.group >= 0) {
        const operand_group& g = p_.groups[static_cast<std::size_t>(at.group)];
        bool complete = true;
        for (const std::uint32_t c : g.counters) complete = complete && (c == at.counter || get(s, first + c) != 0);
        // A complete set is removed at once. If all other operands are present, this one was therefore missing.
        if (!complete) {
          put(s, first + at.counter);
          break;
        }
        for (const std::uint32_t c : g.counters)
          if (c != at.counter) take(s, first + c);
        at = g.above;
      }
      if (at.group < 0) enable(s, d.destination, pending);
    }
  }

  template <class F>
  void settle(const word* s, const std::vector<std::uint32_t>& pending, double probability, F&& arrive) const {
    if (pending.empty()) {
      arrive(s, probability);
      return;
    }
    const program_task& t = p_.tasks[pending.front()];
    for (const task_outcome& o : t.outcomes) {
      std::vector<word> next(s, s + words_);
      std::vector<std::uint32_t> rest(pending.begin() + 1, pending.end());
      for (const token_delivery& d : o.deliveries) deliver(next.data(), d, rest);
      settle(next.data(), rest, probability * o.probability, arrive);
    }
  }

  const program& p_;
  std::vector<field> fields_;
  std::vector<std::uint32_t> owner_;
  std::uint32_t active_bits_ = 0;
  std::size_t words_ = 1;
};

/// Runs attempt(bits) and widens fields until nothing overflows.
template <class F>
auto with_wide_enough_fields(const program& p, F&& attempt) {
  std::vector<std::uint8_t> bits(p.tasks.size() + p.packets.size() + p.counters, 1);
  for (;;) {
    try {
      return attempt(bits);
    } catch (const field_overflow& o) {
      if (bits[o.field] == 16) {
        const std::string what = o.field < p.tasks.size() ? "task '" + p.tasks[o.field].name + "'" : "an operand set";
        throw prediction_error(fault::unbounded, what + " gathers more than 65,535 customers: the program is unbounded");
      }
      bits[o.field] = static_cast<std::uint8_t>(bits[o.field] * 2);
    }
  }
}

}  // namespace detail
}  // namespace models
}  // namespace v0
}  // namespace whywait

#endif

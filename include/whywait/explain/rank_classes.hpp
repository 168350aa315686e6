#ifndef WHYWAIT_EXPLAIN_RANK_CLASSES_HPP
#define WHYWAIT_EXPLAIN_RANK_CLASSES_HPP

#include <whywait/core/approach.hpp>
#include <whywait/core/memory_pool.hpp>
#include <whywait/core/plain_vector.hpp>
#include <whywait/core/stable_key.hpp>
#include <whywait/explain/blocks.hpp>
#include <whywait/explain/class_sums.hpp>
#include <whywait/explain/sorting.hpp>
#include <whywait/explain/wait_class.hpp>

#include <cstddef>
#include <cstdint>

namespace whywait {
inline namespace v0 {
namespace explain {

/// The classes of one rank when all its waits are in them: three lists of exact length, to be read once and in order.
class rank_classes {
 public:
  struct one {
    class_sums sums;
    core::stable_key key;
    std::uint32_t location;
    std::uint32_t first_term, terms, first_causer, causers;
  };
  /// What all waits of a class have in one block, by its number.
  struct term {
    std::uint32_t block;
    term_sums sums;
  };
  template <class T>
  struct range {
    const T *first, *last;
    const T* begin() const noexcept { return first; }
    const T* end() const noexcept { return last; }
  };

  rank_classes() = default;
  /// `pool` is borrowed.
  rank_classes(const class_book& book, core::memory_pool& pool) : all_(pool), terms_(pool), causers_(pool) {
    all_.reserve(book.size());
    terms_.reserve(book.terms());
    causers_.reserve(book.causers());
    for (std::size_t c = 0; c != book.size(); ++c) {
      const auto first_term = static_cast<std::uint32_t>(terms_.size());
      const auto first_causer = static_cast<std::uint32_t>(causers_.size());
      book.each_term(c, [this](std::uint32_t block, const term_sums& sums) { terms_.push_back({block, sums}); });
      book.each_causer(c, [this](const location_share& share) { causers_.push_back(share); });
      all_.push_back({book.sums(c), book.key(c), book.location(c), first_term,
                      static_cast<std::uint32_t>(terms_.size()) - first_term, first_causer,
                      static_cast<std::uint32_t>(causers_.size()) - first_causer});
    }
  }

  std::size_t size() const noexcept { return all_.size(); }
  std::size_t terms() const noexcept { return terms_.size(); }      ///< of all classes
  std::size_t causers() const noexcept { return causers_.size(); }  ///< of all classes
  const one& operator[](std::size_t number) const noexcept { return all_[number]; }
  range<term> terms_of(const one& c) const noexcept {
    return {terms_.data() + c.first_term, terms_.data() + c.first_term + c.terms};
  }
  range<location_share> causers_of(const one& c) const noexcept {
    return {causers_.data() + c.first_causer, causers_.data() + c.first_causer + c.causers};
  }

  /// Asks for all its memory.
  void approach() const noexcept {
    core::approach(all_.data(), all_.size() * sizeof(one));
    core::approach(terms_.data(), terms_.size() * sizeof(term));
    core::approach(causers_.data(), causers_.size() * sizeof(location_share));
  }

 private:
  core::plain_vector<one> all_;
  core::plain_vector<term> terms_;
  core::plain_vector<location_share> causers_;
};

/// The order of the blocks of a table by name; kept until it is asked for those of another table, or of a longer one.
class name_order {
 public:
  void of(const block_table& blocks) {
    if (&blocks == table_ && blocks.size() == blocks_.size()) return;
    table_ = &blocks;
    blocks_.resize(blocks.size());
    places_.resize(blocks.size());
    for (std::uint32_t b = 0; b != blocks_.size(); ++b) blocks_[b] = b;
    sort_short(blocks_, [&blocks](std::uint32_t a, std::uint32_t b) { return blocks[a].before(blocks[b]); });
    for (std::uint32_t i = 0; i != blocks_.size(); ++i) places_[blocks_[i]] = i;
  }

  std::size_t size() const noexcept { return blocks_.size(); }
  std::uint32_t block(std::size_t place) const noexcept { return blocks_[place]; }
  std::uint32_t place(std::uint32_t block) const noexcept { return places_[block]; }

 private:
  const block_table* table_ = nullptr;
  core::plain_vector<std::uint32_t> blocks_, places_;  ///< by place, by block
};

}  // namespace explain
}  // namespace v0
}  // namespace whywait

#endif

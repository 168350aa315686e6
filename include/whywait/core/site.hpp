#ifndef WHYWAIT_CORE_SITE_HPP
#define WHYWAIT_CORE_SITE_HPP

#include <whywait/core/kept_file.hpp>
#include <whywait/core/pages.hpp>
#include <whywait/core/site_kind.hpp>
#include <whywait/core/stable_key.hpp>

#include <pthread.h>
#include <stdint.h>
#include <string.h>

namespace whywait {
inline namespace v0 {
namespace core {

/// A marked place, as the process keeps it: names are copied, so a library may be unloaded.
struct site_info {
  const char* name;
  const char* file;
  uint32_t line;
  site_kind kind;
  stable_key key;  ///< the same on every rank: name, base name of the file, line and kind
};

/// All sites of a process: from a place in the source to a small number, never 0, and back. Look-up of a
/// known site takes no lock (about 15 ns with a short name); a new one takes a lock and copies its names
/// into pages of its own. At most `capacity` sites; those beyond share one number, `overflow`. Not for signal
/// handlers.
class site_table {
 public:
  static constexpr uint32_t capacity = 1u << 16;
  static constexpr uint32_t overflow = 1;

  /// Reserves address space (about 4 MB, touched as it fills). False if there is none.
  /// `keeper`: keeps the sites for a reader after a crash; null: they are not kept.
  bool open(kept_file* keeper = nullptr) noexcept {
    infos_ = static_cast<site_info*>(map_pages(sizeof(site_info) * capacity, false));
    slots_ = static_cast<uint32_t*>(map_pages(sizeof(uint32_t) * slot_count, false));
    if (infos_ == nullptr || slots_ == nullptr) return false;
    keeper_ = keeper;
    if (keeper_ != nullptr) keeper_->keep_by_site(infos_, 0, sizeof(site_info));
    infos_[0] = no_site();
    infos_[overflow] = overflow_site();
    size_ = 2;
    return true;
  }

  /// The number of a site, the same for the same (kind, name, file, line) in all libraries. Null names
  /// count as empty. Any thread.
  uint32_t intern(site_kind kind, const char* name, const char* file, uint32_t line) noexcept {
    if (name == nullptr) name = "";
    if (file == nullptr) file = "";
    const stable_key key = key_for(kind, name, file, line);
    uint32_t slot = static_cast<uint32_t>(key) & (slot_count - 1);
    if (const uint32_t found = find(key, slot)) return found;
    pthread_mutex_lock(&mutex_);
    uint32_t id = find(key, slot);
    if (id == 0) id = add(kind, name, file, line, key, slot);
    pthread_mutex_unlock(&mutex_);
    return id;
  }

  /// For a copy of the table of a process that is gone: reads its sites where `memory` has them from now on. `own`:
  /// room for them, which the caller keeps; resized. What cannot be found there has no name.
  template <class Memory, class Infos>
  void adopt(const Memory& memory, Infos& own) {
    const uint64_t there = memory.room(infos_);
    const uint32_t known = size_ < capacity ? size_ : capacity;
    own.assign(known < 2 ? 2 : known, site_info{"(not kept)", "", 0, site_kind::region, key_of("not kept")});
    own[0] = no_site();
    own[overflow] = overflow_site();
    for (uint32_t id = overflow + 1; id < known && id < there; ++id) {
      const site_info* const remote = memory.find(infos_ + id, 1);
      if (remote == nullptr) break;
      site_info& info = own[id];
      info.name = memory.text(remote->name);
      info.file = memory.text(remote->file);
      info.line = remote->line;
      uint8_t kind;
      memcpy(&kind, &remote->kind, sizeof kind);
      if (kind <= static_cast<uint8_t>(site_kind::waiting)) info.kind = static_cast<site_kind>(kind);
      info.key = key_for(info.kind, info.name, info.file, info.line);
    }
    infos_ = own.data();
    slots_ = nullptr;
    size_ = static_cast<uint32_t>(own.size());
  }

  /// Locked around fork(2), so that no thread is adding a site while the process is copied.
  void lock() noexcept { pthread_mutex_lock(&mutex_); }
  void unlock() noexcept { pthread_mutex_unlock(&mutex_); }

  /// Number of numbers in use, 0 and the overflow site included.
  uint32_t size() const noexcept { return __atomic_load_n(&size_, __ATOMIC_ACQUIRE); }
  const site_info& operator[](uint32_t id) const noexcept { return infos_[id]; }

  static stable_key key_for(site_kind kind, const char* name, const char* file, uint32_t line) noexcept {
    const char* base = strrchr(file, '/');
    return combine(combine(key_of(name), key_of(base != nullptr ? base + 1 : file)),
                   (uint64_t(line) << 8) | static_cast<uint8_t>(kind));
  }

 private:
  static constexpr uint32_t slot_count = capacity * 2;

  static site_info no_site() noexcept { return {"", "", 0, site_kind::none, 0}; }  // with an empty name
  static site_info overflow_site() noexcept {
    return {"(more than 65534 sites)", "", 0, site_kind::region, key_of("overflow")};
  }

  // Leaves in `slot` where the search ended: the place of a new entry.
  uint32_t find(stable_key key, uint32_t& slot) const noexcept {
    for (;; slot = (slot + 1) & (slot_count - 1)) {
      const uint32_t id = __atomic_load_n(&slots_[slot], __ATOMIC_ACQUIRE);
      if (id == 0 || infos_[id].key == key) return id;
    }
  }

  uint32_t add(site_kind kind, const char* name, const char* file, uint32_t line, stable_key key, uint32_t slot) noexcept {
    if (size_ == capacity) return overflow;
    const char* own_name = copy(name);
    const char* own_file = copy(file);
    if (own_name == nullptr || own_file == nullptr) return overflow;
    const uint32_t id = size_;
    if (keeper_ != nullptr) keeper_->grow_sites(id + 1);
    infos_[id] = site_info{own_name, own_file, line, kind, key};
    __atomic_store_n(&size_, id + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&slots_[slot], id, __ATOMIC_RELEASE);
    return id;
  }

  const char* copy(const char* text) noexcept {
    const size_t bytes = strlen(text) + 1;
    if (bytes > room_) {
      const size_t fresh = bytes > text_chunk ? bytes : text_chunk;
      text_ = static_cast<char*>(map_pages(fresh, false));
      room_ = text_ != nullptr ? fresh : 0;
      if (text_ == nullptr) return nullptr;
      if (keeper_ != nullptr) keeper_->keep(text_, fresh);
    }
    char* const own = text_;
    memcpy(own, text, bytes);
    text_ += bytes;
    room_ -= bytes;
    return own;
  }

  static constexpr size_t text_chunk = 1u << 16;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  site_info* infos_ = nullptr;
  uint32_t* slots_ = nullptr;
  uint32_t size_ = 0;
  char* text_ = nullptr;
  size_t room_ = 0;
  kept_file* keeper_ = nullptr;
};

}  // namespace core
}  // namespace v0
}  // namespace whywait

#endif

#ifndef WHYWAIT_TESTS_FUZZ_CORPUS_HPP
#define WHYWAIT_TESTS_FUZZ_CORPUS_HPP

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

/// The inputs of a file that corpus.py packed. Throws std::runtime_error with the place of a line that is no entry.
inline std::vector<std::string> read_corpus(const std::string& path) {
  std::vector<std::string> entries;
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be read");
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (!line.empty() && line[0] == '#') continue;
    const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
    bool good = line.size() >= 2 && line.front() == '"' && line.back() == '"';
    std::string entry;
    for (std::size_t i = 1; good && i + 1 < line.size(); ++i) {
      if (line[i] != '\\') {
        good = line[i] != '"';
        entry += line[i];
        continue;
      }
      const char kind = line[++i];
      if (kind == 'n') entry += '\n';
      else if (kind == 't') entry += '\t';
      else if ((kind == '\\' || kind == '"') && i + 1 < line.size()) entry += kind;
      else if (kind == 'x' && i + 3 < line.size() && digit(line[i + 1]) >= 0 && digit(line[i + 2]) >= 0) {
        entry += static_cast<char>(digit(line[i + 1]) * 16 + digit(line[i + 2]));
        i += 2;
      } else good = false;
    }
    if (!good) throw std::runtime_error(path + ":" + std::to_string(number) + ": expected one input in double quotes");
    entries.push_back(entry);
  }
  return entries;
}

/// Calls a fuzz target with one entry; 0 if it is well.
template <class Target>
int replay(Target&& target, const std::string& entry) {
  return target(reinterpret_cast<const std::uint8_t*>(entry.data()), entry.size());
}

#endif

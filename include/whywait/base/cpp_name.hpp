#ifndef WHYWAIT_BASE_CPP_NAME_HPP
#define WHYWAIT_BASE_CPP_NAME_HPP

#include <cxxabi.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>

namespace whywait {
inline namespace v0 {
namespace base {

/// The name of a function of which the compiler made a part or a copy: "main" of "main.cold", "step" of "step.part.0".
inline std::string whole_function(const char* name) {
  const char* end = name + std::strlen(name);
  for (const char* const part : {".cold", ".part.", ".constprop.", ".isra."}) {
    const char* const at = std::strstr(name, part);
    if (at != nullptr && at < end && at != name && std::strstr(name, "_omp_fn") == nullptr) end = at;
  }
  return std::string(name, end);
}

/// Demangles a name (Itanium ABI, and procedures of Fortran modules as gfortran names them: "__halo_MOD_exchange" becomes
/// "halo::exchange", and their main program, "MAIN__") without what compilers add to parts of functions; any other text is returned
/// unchanged. Allocates.
inline std::string demangle(const char* mangled) {
  if (mangled == nullptr) return {};
  const std::string of_function = whole_function(mangled);
  const char* const name = of_function.c_str();
  const std::string_view text_of_name = of_function;
  if (text_of_name == "MAIN__") return "main program";
  const std::size_t procedure = text_of_name.find("_MOD_");
  if (text_of_name.substr(0, 2) == "__" && procedure > 2 && procedure != std::string_view::npos)
    return std::string(text_of_name.substr(2, procedure - 2)).append("::").append(text_of_name.substr(procedure + 5));
  if (text_of_name.substr(0, 2) != "_Z") return of_function;  // the function "w" of a C program is not the type wchar_t
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 && text != nullptr ? text : name;
  std::free(text);
  return result;
}

namespace detail {

/// End of an operator name such as "operator<<" or "operator()" if `name` has one at `at`, else 0.
inline std::size_t operator_end(std::string_view name, std::size_t at) noexcept {
  constexpr std::string_view word = "operator";
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (name.substr(at, word.size()) != word || (at > 0 && letter(name[at - 1]))) return 0;
  std::size_t end = at + word.size();
  if (end < name.size() && letter(name[end])) return 0;
  if (name.substr(end, 2) == "()" || name.substr(end, 2) == "[]") return end + 2;
  while (end < name.size() && std::string_view("<>=!+-*/%^&|~,").find(name[end]) != std::string_view::npos) {
    // "operator< <int>": the demangler separates template arguments from the symbol by a space
    if (name[end] == '<' && end > at + word.size() && name[end - 1] != '<') break;
    ++end;
  }
  return end;
}

/// One past the bracket that closes the one at `at`, or the end of the text.
inline std::size_t past_bracket(std::string_view name, std::size_t at) noexcept {
  int depth = 0;
  for (std::size_t i = at; i < name.size(); ++i) {
    if (const std::size_t end = operator_end(name, i)) {
      i = end - 1;
      continue;
    }
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if ((c == '>' && name[i - 1] != '-') || c == ')' || c == '}' || c == ']') --depth;
    if (depth == 0) return i + 1;
  }
  return name.size();
}

}  // namespace detail

/// Shortens a C++ function name by its return type, parameters and template arguments:
/// "void app::solver<double, std::array<int, 3> >::step(int)" becomes "app::solver<...>::step". O(n).
inline std::string short_name(std::string_view name) {
  constexpr std::string_view anonymous = "(anonymous namespace)";
  constexpr std::string_view lambda = "{lambda(";
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    if (const std::size_t end = detail::operator_end(name, i)) {
      out += name.substr(i, end - i);
      i = end;
      if (i < name.size() && name[i] == ' ') {  // "operator new", conversions, "operator< <int>"
        ++i;
        if (i < name.size() && name[i] != '<') out += '\1';  // restored as a space below; it does not end a return type
      }
      continue;
    }
    if (name.substr(i, anonymous.size()) == anonymous) {
      out += "(anonymous)";
      i += anonymous.size();
    } else if (name.substr(i, lambda.size()) == lambda) {
      out += "{lambda}";
      i = detail::past_bracket(name, i);
    } else if (name[i] == '<') {
      out += "<...>";
      i = detail::past_bracket(name, i);
    } else if (name[i] == '(') {
      const std::size_t end = detail::past_bracket(name, i);
      if (name.substr(end, 2) != "::") break;  // parameters, perhaps followed by const, noexcept or [clone]
      i = end;  // function of a local entity: "f(int)::g"
    } else if (name[i] == ' ') {
      out.clear();  // the text so far was the return type
      ++i;
    } else if (name[i] == '[') {
      break;  // "[clone .cold]", "[abi:cxx11]"
    } else {
      out += name[i++];
    }
  }
  for (char& c : out)
    if (c == '\1') c = ' ';
  return out.empty() ? std::string(name) : out;
}

}  // namespace base
}  // namespace v0
}  // namespace whywait

#endif

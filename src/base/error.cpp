#include "kreisel/error.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <numeric>

#include "base/text.hpp"

namespace kreisel {
namespace {

/// Longer words are not typing errors, and their distances are expensive.
constexpr std::size_t longest_word = 100;

bool same_letter(char a, char b) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return lower(a) == lower(b);
}

/// Insertions, deletions and substitutions from a to b, ignoring case.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);  // distances from the current prefix of a to all prefixes of b
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (same_letter(a[i], b[j]) ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

/// Near means at most two fifths of the longer word, at least one edit, and something in common.
bool is_near(std::size_t distance, std::size_t longer) {
  return distance < longer && distance <= std::max<std::size_t>(1, 2 * longer / 5);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  std::size_t best_distance = 0;
  if (word.size() > longest_word) return best;
  for (const std::string& entry : known) {
    if (entry.size() > longest_word) continue;
    const std::size_t distance = edit_distance(word, entry);
    if (!is_near(distance, std::max(word.size(), entry.size()))) continue;
    if (best.empty() || distance < best_distance) {
      best = entry;
      best_distance = distance;
    }
  }
  return best;
}

std::string unknown_name(std::string_view what, std::string_view word, const std::vector<std::string>& known) {
  std::string sentence = "unknown ";
  sentence.append(what).append(" '").append(clipped(word, longest_word)).append("'; ");
  const std::string near = nearest(word, known);
  if (!near.empty()) sentence.append("did you mean '").append(near).append("'? ");
  if (known.empty()) return sentence.append("there are none");
  sentence.append("known: ");
  for (std::size_t i = 0; i < known.size(); ++i)
    sentence.append(i == 0 ? "" : ", ").append(clipped(known[i], longest_word));
  return sentence;
}

}  // namespace kreisel

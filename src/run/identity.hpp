// Which run a checkpoint belongs to.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/archive.hpp"
#include "kreisel/options.hpp"
#include "kreisel/system.hpp"

namespace kreisel::run {

/// Fingerprint of force, gap and rate at a point: the same functions give the same bits.
std::uint64_t fingerprint_of_equations(const system::System& system, const system::Motion& m, ConstVectorRef lambda);

/// Everything that determines the bits of a run, named so that an error message can say what differs. Refers to its arguments.
class Identity {
 public:
  Identity(const Options& options, const system::System& system, const system::Start& start)
      : options_(options), system_(system), start_(start) {}

  /// The state of this run as the bytes of a checkpoint.
  std::string checkpoint_of(const Archive& state) const;
  /// The state in the bytes of a checkpoint; throws InvalidInput when they belong to another run.
  std::string_view state_in(std::string_view checkpoint) const;

 private:
  struct Fact {
    std::string name, value;
  };

  const std::vector<Fact>& facts() const;

  const Options& options_;
  const system::System& system_;
  const system::Start& start_;
  mutable std::vector<Fact> facts_;  ///< empty until first used
};

}  // namespace kreisel::run

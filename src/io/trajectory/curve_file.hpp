// Curves of many runs in HDF5: a group per run, a dataset per curve, links between files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/files/files.hpp"

namespace kreisel::io {

/// A file that gets its name once it is complete. Every failure throws EnvironmentError.
class CurveFile {
 public:
  explicit CurveFile(const Path& path);
  ~CurveFile();
  CurveFile(const CurveFile&) = delete;
  CurveFile& operator=(const CurveFile&) = delete;

  struct Column {
    std::string name;
    const std::vector<double>& values;
  };
  void add(const std::string& group, const std::vector<Column>& columns);
  /// `name` refers to a group of another file in the same folder.
  void link(const std::string& name, const std::string& file, const std::string& group);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace kreisel::io

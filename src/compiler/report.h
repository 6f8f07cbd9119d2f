// What the compiler has to say about a run, gathered on the way.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "compiler/request.h"
#include "emit/emit.h"
#include "partition/partition.h"

namespace pteron::compiler {

// Times the stages of a run and tells the request's progress callback about them; `cancelled` where that ends the run.
class Stages {
 public:
  explicit Stages(const CompileRequest& request) : request_(request), start_(Clock::now()) {}
  Status begin(std::string stage);  // ends the one before
  void end();
  Status progress(uint64_t done, uint64_t total) const;
  nlohmann::ordered_json json() const;  // milliseconds by stage
  void note_memory();                   // looks at the memory in use, for the peak

  uint64_t peak_rss() const;
  uint64_t peak_anonymous() const { return peak_anonymous_; }

 private:
  using Clock = std::chrono::steady_clock;
  const CompileRequest& request_;
  std::string current_;
  Clock::time_point start_;
  std::vector<std::pair<std::string, double>> done_;
  uint64_t peak_anonymous_ = 0;
};

struct ReportFacts {
  std::string backend;
  const ir::Module* module = nullptr;
  const std::vector<partition::MethodPartition>* partitions = nullptr;
  const emit::EmitReport* emitted = nullptr;
  nlohmann::ordered_json options;
  std::vector<std::string> notes, warnings;
  uint64_t bytes = 0;
};

nlohmann::ordered_json report_json(const ReportFacts& facts, const Stages& stages);

}  // namespace pteron::compiler

// cuGetProcAddress of the simulated libcuda against an oracle built here, from the text of cudaTypedefs.h and the names
// in the stub library: documented cases by hand, then many random ones.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <vector>

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);
using GetProcAddressOld = CUresult (*)(const char*, void**, int, cuuint64_t);

// The ABIs of one function: (version, exact symbol), ordinary and per-thread.
struct Abis {
  std::map<int, std::string> ordinary;
  std::map<int, std::string> per_thread;
};

class Oracle {
 public:
  explicit Oracle(void* library) : library_(library) {
    std::ifstream stream(TYPEDEFS);
    const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
    const std::regex pattern("\\*PFN_(cu[A-Za-z0-9]+(?:_[A-Za-z]\\w*?)?)_v([0-9]{4,5})(_ptsz|_ptds)?\\)");
    for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match) {
      Abis& abis = functions_[(*match)[1]];
      ((*match)[3].matched ? abis.per_thread : abis.ordinary)[std::stoi((*match)[2])] = (*match)[3];
    }
    for (auto& [name, abis] : functions_) {
      fill_in(name, abis.ordinary);
      fill_in(name, abis.per_thread);
    }
  }

  [[nodiscard]] const std::map<std::string, Abis>& functions() const { return functions_; }

  [[nodiscard]] void* expected(const std::string& name, int version, cuuint64_t flags,
                               CUdriverProcAddressQueryResult& status) const {
    status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const auto found = functions_.find(name);
    if (found == functions_.end()) return nullptr;
    status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    std::optional<std::string> symbol;
    if (flags == 2) symbol = newest(found->second.per_thread, version);
    if (!symbol) symbol = newest(found->second.ordinary, version);
    if (!symbol) return nullptr;
    status = CU_GET_PROC_ADDRESS_SUCCESS;
    return dlsym(library_, symbol->c_str());
  }

 private:
  // Symbols of one function in the order of their ABIs: name, name_v2, name_v3, ...; gaps occur (no
  // cuTexRefSetAddress2D_v1).
  void fill_in(const std::string& name, std::map<int, std::string>& abis) const {
    int number = 1;
    for (auto& [version, suffix] : abis) {
      std::string symbol;
      do {
        symbol = name + (number == 1 ? "" : "_v" + std::to_string(number)) + suffix;
        ++number;
      } while (dlsym(library_, symbol.c_str()) == nullptr && number < 9);
      suffix = symbol;
    }
  }

  static std::optional<std::string> newest(const std::map<int, std::string>& abis, int version) {
    const auto after = abis.upper_bound(version);
    if (after == abis.begin()) return std::nullopt;
    return std::prev(after)->second;
  }

  void* library_;
  std::map<std::string, Abis> functions_;
};

class ProcAddress : public testing::Test {
 protected:
  void SetUp() override {
    library = dlopen(SIMULATED_CUDA, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    get = reinterpret_cast<GetProcAddress>(dlsym(library, "cuGetProcAddress_v2"));
    get_old = reinterpret_cast<GetProcAddressOld>(dlsym(library, "cuGetProcAddress"));
    ASSERT_NE(get, nullptr);
    ASSERT_NE(get_old, nullptr);
  }

  void* ask(const char* name, int version, cuuint64_t flags = 0) {
    void* address = nullptr;
    EXPECT_EQ(get(name, &address, version, flags, &status), CUDA_SUCCESS);
    return address;
  }
  void* symbol(const char* name) { return dlsym(library, name); }

  void* library = nullptr;
  GetProcAddress get = nullptr;
  GetProcAddressOld get_old = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
};

TEST_F(ProcAddress, NewestAbiNotNewerThanAskedFor) {
  EXPECT_EQ(ask("cuMemAlloc", 2000), symbol("cuMemAlloc"));
  EXPECT_EQ(ask("cuMemAlloc", 3020), symbol("cuMemAlloc_v2"));
  EXPECT_EQ(ask("cuMemAlloc", 13000), symbol("cuMemAlloc_v2"));
  EXPECT_EQ(ask("cuGetProcAddress", 11030), symbol("cuGetProcAddress"));
  EXPECT_EQ(ask("cuGetProcAddress", 12000), symbol("cuGetProcAddress_v2"));
  EXPECT_EQ(ask("cuCtxCreate", 11040), symbol("cuCtxCreate_v3"));
  EXPECT_EQ(ask("cuStreamGetCaptureInfo", 11030), symbol("cuStreamGetCaptureInfo_v2"));
  EXPECT_EQ(ask("cuTexRefSetAddress2D", 4010), symbol("cuTexRefSetAddress2D_v3"));
}

TEST_F(ProcAddress, PerThreadTwinOnlyOnRequest) {
  EXPECT_EQ(ask("cuLaunchKernel", 7000, 0), symbol("cuLaunchKernel"));
  EXPECT_EQ(ask("cuLaunchKernel", 7000, 1), symbol("cuLaunchKernel"));
  EXPECT_EQ(ask("cuLaunchKernel", 7000, 2), symbol("cuLaunchKernel_ptsz"));
  EXPECT_EQ(ask("cuLaunchKernel", 4000, 2), symbol("cuLaunchKernel"));
  EXPECT_EQ(ask("cuMemcpyHtoD", 13000, 2), symbol("cuMemcpyHtoD_v2_ptds"));
  EXPECT_EQ(ask("cuMemAlloc", 13000, 2), symbol("cuMemAlloc_v2"));
}

TEST_F(ProcAddress, UnknownNameAndInsufficientVersion) {
  EXPECT_EQ(ask("cuNoSuchFunction", 13000), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(ask("", 0), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(ask("cuMemAlloc_v2", 13000), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  EXPECT_EQ(ask("cuLaunchKernelEx", 11050), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(ask("cuInit", -1), nullptr);
  EXPECT_EQ(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

TEST_F(ProcAddress, BadArgumentsAreInvalidValues) {
  void* address = this;
  EXPECT_EQ(get(nullptr, &address, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get("cuInit", nullptr, 13000, 0, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get("cuInit", &address, 13000, 3, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get("cuInit", &address, CUDA_VERSION + 1, 0, &status), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(get("cuInit", &address, 13000, 0, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(address, symbol("cuInit"));
}

TEST_F(ProcAddress, OldAbiReportsAnErrorInsteadOfAStatus) {
  void* address = nullptr;
  EXPECT_EQ(get_old("cuMemAlloc", &address, 3020, 0), CUDA_SUCCESS);
  EXPECT_EQ(address, symbol("cuMemAlloc_v2"));
  EXPECT_EQ(get_old("cuNoSuchFunction", &address, 13000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(address, nullptr);
  EXPECT_EQ(get_old("cuLaunchKernelEx", &address, 2000, 0), CUDA_ERROR_NOT_FOUND);
}

TEST_F(ProcAddress, EveryFunctionAtEveryVersionAndFlag) {
  const Oracle oracle(library);
  ASSERT_GT(oracle.functions().size(), 400U);
  for (const auto& [name, abis] : oracle.functions()) {
    std::vector<int> versions = {0, 13000};
    for (const auto* each : {&abis.ordinary, &abis.per_thread})
      for (const auto& [version, exact] : *each) versions.insert(versions.end(), {version - 1, version, version + 1});
    for (const int version : versions) {
      if (version > CUDA_VERSION) continue;
      for (const cuuint64_t flags : {0U, 1U, 2U}) {
        CUdriverProcAddressQueryResult expected_status;
        void* const expected = oracle.expected(name, version, flags, expected_status);
        EXPECT_EQ(ask(name.c_str(), version, flags), expected) << name << '@' << version << " flags " << flags;
        EXPECT_EQ(status, expected_status) << name << '@' << version << " flags " << flags;
      }
    }
  }
}

TEST_F(ProcAddress, RandomArgumentsAgreeWithTheOracle) {
  const Oracle oracle(library);
  std::vector<std::string> names;
  for (const auto& [name, abis] : oracle.functions()) names.push_back(name);
  std::mt19937 random(20260101);
  const auto below = [&random](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>(0, bound - 1)(random);
  };
  for (int round = 0; round < 100000; ++round) {
    std::string name = names[below(names.size())];
    switch (below(8)) {
      case 0:
        name.resize(below(name.size() + 1));
        break;
      case 1:
        name += "_v2";
        break;
      case 2:
        name[below(name.size())] = static_cast<char>(1 + below(255));
        break;
      case 3:
        name.insert(below(name.size()), 1, 'x');
        break;
      default:
        break;
    }
    const int version = static_cast<int>(below(13500)) - 100;
    const cuuint64_t flags = below(5);
    CUdriverProcAddressQueryResult expected_status;
    void* const expected = oracle.expected(name, version, flags, expected_status);
    void* address = this;
    const CUresult result = get(name.c_str(), &address, version, flags, &status);
    if (version > CUDA_VERSION || flags > 2) {
      ASSERT_EQ(result, CUDA_ERROR_INVALID_VALUE);
      ASSERT_EQ(address, this);
      continue;
    }
    ASSERT_EQ(result, CUDA_SUCCESS);
    ASSERT_EQ(address, expected) << name << '@' << version << " flags " << flags;
    ASSERT_EQ(status, expected_status);
  }
}

}  // namespace

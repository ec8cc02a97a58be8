// The table from addresses to hooks: exports, the driver's other addresses, and addresses that could be two hooks'.
#include "shim/tables/address_table.h"

#include <gtest/gtest.h>

#include <memory>

namespace {

using weft::AddressTable;

class Addresses : public testing::Test {
 protected:
  static void* at(std::uint64_t address) { return reinterpret_cast<void*>(address); }
  std::unique_ptr<AddressTable> table = std::make_unique<AddressTable>();
};

TEST_F(Addresses, AnExportAndItsAliasesAreOneSymbol) {
  table->enter_export(at(0x7f0000001000), 7);
  table->enter_alias(at(0x7f0000002000), 7);
  table->enter_alias(at(0x7f0000002010), 7);
  EXPECT_EQ(table->find(at(0x7f0000001000)), 7);
  EXPECT_EQ(table->find(at(0x7f0000002000)), 7);
  EXPECT_EQ(table->find(at(0x7f0000002010)), 7);
  EXPECT_EQ(table->find(at(0x7f0000002001)), AddressTable::nobody);
}

TEST_F(Addresses, TheFirstSymbolIsOneToo) {
  table->enter_alias(at(0x1000), 0);
  EXPECT_EQ(table->find(at(0x1000)), 0);
}

TEST_F(Addresses, AnAliasOfTwoSymbolsIsNobodysForEver) {
  table->enter_alias(at(0x1000), 3);
  table->enter_alias(at(0x1000), 4);
  EXPECT_EQ(table->find(at(0x1000)), AddressTable::nobody);
  table->enter_alias(at(0x1000), 3);
  EXPECT_EQ(table->find(at(0x1000)), AddressTable::nobody);
}

TEST_F(Addresses, AnExportStaysTheExports) {
  table->enter_export(at(0x1000), 3);
  table->enter_alias(at(0x1000), 4);
  table->enter_export(at(0x1000), 5);
  EXPECT_EQ(table->find(at(0x1000)), 3);
}

TEST_F(Addresses, WhatCannotBeAnAddressOfTheProgramIsNotKept) {
  table->enter_export(nullptr, 1);
  table->enter_export(at(0xffff800000001000), 1);
  EXPECT_EQ(table->find(nullptr), AddressTable::nobody);
  EXPECT_EQ(table->find(at(0xffff800000001000)), AddressTable::nobody);
}

TEST_F(Addresses, AFullTableKeepsWhatItHas) {
  for (std::uint64_t i = 0; i < AddressTable::slot_count; ++i) {
    table->enter_alias(at(0x10000 + 16 * i), static_cast<std::uint16_t>(i));
  }
  table->enter_alias(at(0x100000), 9);
  EXPECT_EQ(table->find(at(0x100000)), AddressTable::nobody);
  for (std::uint64_t i = 0; i < AddressTable::slot_count; ++i) EXPECT_EQ(table->find(at(0x10000 + 16 * i)), i);
}

}  // namespace

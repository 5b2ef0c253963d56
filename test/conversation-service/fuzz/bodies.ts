/** Random bodies: valid ones with changed members, JSON of any shape, almost-JSON texts, and bytes. */
import type { Chance } from './chance.ts'

export type Sent = { body: Buffer; headers: Record<string, string>; isChunked: boolean }

/** Texts known to break parsers, stores or terminals. None of them names a program, a path or an address. */
const TEXTS = [
  '',
  ' ',
  '0',
  '-1',
  '5',
  '5.5',
  '1e400',
  'NaN',
  'Infinity',
  'null',
  'true',
  'no',
  '**********',
  '__proto__',
  'constructor',
  'toString',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00x',
  '\u202e\u200b',
  '\u{1f600}'.repeat(3),
  '%00%2e%2e',
  "'; DROP TABLE secrets; --",
  '${jndi}',
  '{{7*7}}',
  '{"a":1}',
  '[]',
  '[{"action":"message","args":{"content":"x"}}]',
  '0f0e0d0c-0b0a-4908-8706-050403020100',
  '2026-02-03T10:00:00Z',
  '9999-12-31T23:59:59.999999+23:59',
  '0000-01-01',
  'idle',
  'Agent',
  'LocalWorkspace',
  'NeverConfirm',
  'github',
]
const NUMBERS = [0, -0, 1, -1, 5.5, 2 ** 31, 2 ** 53, -(2 ** 63), 1e20, 1e308, 5e-324, 253402300800, 1e15]
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'kind',
  'id',
  'value',
  'name',
  '',
  'a b',
  '\u0000',
  '0',
  '\ud83d',
  'toJSON',
]

const scalar = (chance: Chance): unknown => {
  switch (chance.under(6)) {
    case 0:
      return null
    case 1:
      return chance.is(0.5)
    case 2:
      return chance.pick(NUMBERS)
    case 3:
      return (chance.next() - 0.5) * 10 ** chance.under(20)
    case 4:
      return chance.pick(TEXTS).repeat(chance.is(0.01) ? 2000 : 1)
    default:
      return chance.pick(TEXTS)
  }
}

/** JSON of any shape; members with any name are own members. */
function anything(chance: Chance, depth = 4): unknown {
  if (depth === 0 || chance.is(0.5)) return scalar(chance)
  if (chance.is(0.4)) return Array.from({ length: chance.under(4) }, () => anything(chance, depth - 1))
  return Object.fromEntries(
    Array.from({ length: chance.under(4) }, () => [chance.pick(NAMES), anything(chance, depth - 1)]),
  )
}

/** A copy with one value changed, removed, or with an added neighbour. */
function changed(value: unknown, chance: Chance): unknown {
  if (typeof value !== 'object' || value === null || chance.is(0.15)) return anything(chance)
  if (Array.isArray(value)) {
    if (value.length === 0) return [anything(chance)]
    const at = chance.under(value.length)
    return value.map((item, index) => (index === at ? changed(item, chance) : item))
  }
  const entries = Object.entries(value)
  if (entries.length === 0 || chance.is(0.1))
    return Object.fromEntries([...entries, [chance.pick(NAMES), anything(chance)]])
  const at = chance.under(entries.length)
  if (chance.is(0.15)) return Object.fromEntries(entries.filter((_, index) => index !== at))
  return Object.fromEntries(
    entries.map(([name, member], index) => [name, index === at ? changed(member, chance) : member]),
  )
}

function corrupted(text: string, chance: Chance): string {
  const at = chance.under(text.length + 1)
  switch (chance.under(4)) {
    case 0:
      return text.slice(0, at)
    case 1:
      return (
        text.slice(0, at) + chance.pick(['"', '{', '}', ',', '\\', '\n', '\\u12', '1e999', '\u0001']) + text.slice(at)
      )
    case 2:
      return text.slice(0, at) + text.slice(at + 1)
    default:
      return text + chance.pick([',', ' {}', '}', '\u0000'])
  }
}

function nested(chance: Chance): string {
  const levels = chance.pick([150, 199, 200, 201, 1000, 20_000])
  return chance.is(0.5)
    ? '['.repeat(levels) + ']'.repeat(chance.is(0.8) ? levels : levels - 1)
    : '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
}

const noise = (chance: Chance): Buffer =>
  Buffer.from(Array.from({ length: chance.under(120) }, () => chance.under(256)))

const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'application/json;',
  ';',
  'a/b; charset="',
  '*/*',
]

/** @param good the body that the result is derived from; it is not changed */
export function bodyOf(chance: Chance, good: unknown): Sent {
  const isTyped = chance.is(0.9)
  const headers: Record<string, string> = isTyped
    ? { 'content-type': 'application/json' }
    : chance.is(0.3)
      ? {}
      : { 'content-type': chance.pick(TYPES) }
  const isChunked = chance.is(0.05)
  const text = (): string => JSON.stringify(mutated()) ?? ''
  const mutated = () => {
    let value = good
    for (let times = 1 + chance.under(3); times > 0; times--) value = changed(value, chance)
    return value
  }
  if (chance.is(0.02)) return { body: Buffer.from(JSON.stringify(good)), headers, isChunked }
  const kind = chance.next()
  if (kind < 0.6) return { body: Buffer.from(text()), headers, isChunked }
  if (kind < 0.75) return { body: Buffer.from(JSON.stringify(anything(chance)) ?? ''), headers, isChunked }
  if (kind < 0.9) return { body: Buffer.from(corrupted(JSON.stringify(good), chance)), headers, isChunked }
  if (kind < 0.93) return { body: Buffer.from(nested(chance)), headers, isChunked }
  if (kind < 0.95)
    return { body: Buffer.from(`{"max_iterations":${'9'.repeat(1 + chance.under(5000))}}`), headers, isChunked }
  return { body: noise(chance), headers, isChunked }
}

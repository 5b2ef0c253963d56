import { runInThisContext } from 'node:vm'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { withDirectBuiltins } from '../scripts/bundle/direct-builtins.ts'
import { withLazyMembers } from '../scripts/bundle/lazy-members.ts'

test('imports of runtime modules become constants, and other imports stay', () => {
  const code = [
    'import { join, resolve as resolve$1 } from "node:path";',
    'import fs, { a } from "other";',
    'import * as vm from "node:vm";',
    'import v8 from "node:v8";',
    'import { default as os, homedir } from "node:os";',
  ].join('\n')
  expect(withDirectBuiltins(code).split('\n')).toEqual([
    'const { join, resolve: resolve$1 } = process.getBuiltinModule("node:path");',
    'import fs, { a } from "other";',
    'const vm = process.getBuiltinModule("node:vm");',
    'const v8 = process.getBuiltinModule("node:v8");',
    'const os = process.getBuiltinModule("node:os"); const { homedir } = process.getBuiltinModule("node:os");',
  ])
})

test('members of zod objects that calls make are made when the object is first used', () => {
  const code = `z.strictObject({ kind, name: z.object({ first: text('first') }), ...more, plain: 1, [key]: text('key') })`
  const lazy = withLazyMembers(code, 'module.ts')
  expect(lazy).toBe(
    `z.strictObject({ kind, get name() { return (z.object({ get first() { return (text('first')) } })) }, ...more, plain: 1, [key]: text('key') })`,
  )
  const made: string[] = []
  const text = (name: string) => (made.push(name), z.string())
  const evaluate = runInThisContext(`(z, text, kind, more, key) => ${lazy.replace('plain: 1, ', '')}`) as (
    ...values: unknown[]
  ) => z.ZodType
  const schema = evaluate(z, text, z.literal('a'), { more: z.int() }, 'computed')
  expect(made).toEqual(['key'])
  const value = { kind: 'a', name: { first: 'x' }, more: 1, computed: 'y' }
  expect([schema.parse(value), schema.parse(value)]).toEqual([value, value])
  expect(made).toEqual(['key', 'first'])
})

test('calls of other functions with objects keep their members', () => {
  const code = `f({ a: g() }); z.enum({ a: g() }); other.object({ a: g() })`
  expect(withLazyMembers(code, 'module.ts')).toBe(code)
})

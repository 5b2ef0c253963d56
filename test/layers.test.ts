import { expect, test } from 'vitest'
import { importsOf } from './layers/imports.ts'
import { fault, isTestPart } from './layers/rules.ts'
import { readSource, sourceFiles } from './source-files.ts'

test('every import keeps to the layers', () => {
  const sources = sourceFiles('packages/*/src/**/*.{ts,tsx}').filter((file) => !isTestPart(file))
  expect(sources.length).toBeGreaterThan(0)
  const faults = sources.flatMap((file) =>
    importsOf(file, readSource(file)).flatMap((specifier) => {
      const why = fault(file, specifier)
      return why === null ? [] : [`${file} imports ${specifier}: ${why}`]
    }),
  )
  expect(faults).toEqual([])
})

test('every way to import is seen', () => {
  const text = `
    import a from 'one'; import type { B } from 'two'; import 'three'
    export { c } from 'four'; export * from 'five'; export const d = 1
    const e = await import('six'); type F = import('seven').F; import g = require('eight')
    // import h from 'nine'`
  expect(importsOf('a.ts', text)).toEqual(['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'])
  expect(() => importsOf('a.ts', 'import(name)')).toThrow('string literal')
})

const room = (path: string) => `packages/server/src/${path}`

test.each([
  ['a lower line', room('http/app.ts'), '../conversation/index.ts'],
  ['the same room', room('http/seed/secrets.ts'), '../errors.ts'],
  ['the protocol', room('storage/sqlite/log.ts'), '@parley/protocol'],
  ['everything from above the rooms', room('join/compose.ts'), '../storage/index.ts'],
  ['its neighbour above the rooms', room('join/heart.ts'), './compose.ts'],
  ['a library at home', room('storage/sqlite/open.ts'), 'node:sqlite'],
  ['the server from the command line', 'packages/cli/src/main.ts', '@parley/server'],
  ['the client from the command line', 'packages/cli/src/commands/tail.ts', '@parley/client'],
  ['node from the server', room('lib/abort.ts'), 'node:events'],
])('may import %s', (_, file, specifier) => {
  expect(fault(file, specifier)).toBeNull()
})

test.each([
  ['a higher line', room('storage/open.ts'), '../http/index.ts', 'http is not below storage'],
  ['the same line', room('http/app.ts'), '../webhooks/index.ts', 'webhooks is not below http'],
  [
    'a room past its door',
    room('http/app.ts'),
    '../conversation/run.ts',
    'conversation is entered through its index.ts',
  ],
  [
    'a room past its door, from above',
    room('join/compose.ts'),
    '../storage/sqlite/open.ts',
    'storage is entered through its index.ts',
  ],
  ['a closed edge', room('tools/tool.ts'), '../storage/index.ts', 'tools never imports storage'],
  ['what joins the rooms', room('http/app.ts'), '../join/heart.ts', 'a room does not import what joins the rooms'],
  ['a room without a line', room('misc/a.ts'), 'zod', 'the room misc has no line; give it one in test/layers/rules.ts'],
  [
    'a library away from home',
    room('tools/terminal/shell.ts'),
    'node:child_process',
    'node:child_process has its home in workspace',
  ],
  ['a part of such a library', room('http/app.ts'), 'pino/file', 'pino/file has its home in observability'],
  ['a scoped library', room('agent/a.ts'), '@ai-sdk/openai', '@ai-sdk/openai has its home in llm'],
  ['a library from the command line', 'packages/cli/src/main.ts', 'ws', 'ws has its home in http'],
  [
    'another package by path',
    'packages/cli/src/main.ts',
    '../../server/src/index.ts',
    'another package is imported by its name',
  ],
  [
    'another package in its depth',
    'packages/cli/src/main.ts',
    '@parley/server/src/x.ts',
    'a package is entered by its name alone',
  ],
  ['a package above it', 'packages/client/src/call.ts', '@parley/server', 'client does not import server'],
  ['node in the protocol', 'packages/protocol/src/ids.ts', 'node:crypto', 'protocol runs in a browser'],
  ['node in the client', 'packages/client/src/call.ts', 'node:http', 'client runs in a browser'],
  ['anything but zod in the protocol', 'packages/protocol/src/ids.ts', 'uuid', 'protocol depends on zod alone'],
  ['a test', room('http/app.ts'), './app.test.ts', 'sources do not import tests'],
  ['parts made for tests, beside them', room('http/app.ts'), './app.testing.ts', 'sources do not import tests'],
  ['parts made for tests', room('http/app.ts'), '../../testing/temp.ts', 'sources do not import tests'],
])('may not import %s', (_, file, specifier, why) => {
  expect(fault(file, specifier)).toBe(why)
})

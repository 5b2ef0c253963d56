import { expect, test } from 'vitest'
import { importsOf } from './layers/imports.ts'
import { fault, isTestPart } from './layers/rules.ts'
import { literalText, nodesOf, readSource, sourceFiles } from './source-files.ts'

test('every import of the sources respects the layers', () => {
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

test('the web UI imports types from the protocol and none of its schemas', () => {
  const sources = sourceFiles('packages/web/src/**/*.{ts,tsx}')
  const imports = sources.flatMap((file) =>
    nodesOf(file, readSource(file)).filter(
      ({ type, source }) => type === 'ImportDeclaration' && literalText(source) === '@parley/protocol',
    ),
  )
  expect(imports.length).toBeGreaterThan(0)
  expect(imports.filter(({ importKind }) => importKind !== 'type')).toEqual([])
})

test('every form of import is found in a source', () => {
  const text = `
    import a from 'one'; import type { B } from 'two'; import 'three'
    export { c } from 'four'; export * from 'five'; export const d = 1
    const e = await import('six'); type F = import('seven').F; import g = require('eight')
    // import h from 'nine'`
  expect(importsOf('a.ts', text)).toEqual(['one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight'])
  expect(() => importsOf('a.ts', 'import(name)')).toThrow('string literal')
})

const module = (path: string) => `packages/server/src/${path}`

test.each([
  ['a lower line', module('http/app.ts'), '../conversation/index.ts'],
  ['the same module', module('http/conversation-service/secrets.ts'), '../errors.ts'],
  ['the protocol', module('storage/sqlite/log.ts'), '@parley/protocol'],
  ['a module from the composition root', module('compose/compose.ts'), '../storage/index.ts'],
  ['a file of the composition root from another one', module('compose/engine.ts'), './compose.ts'],
  ['a library in its module', module('storage/sqlite/open.ts'), 'node:sqlite'],
  ['the server from the command line', 'packages/cli/src/main.ts', '@parley/server'],
  ['the client from the command line', 'packages/cli/src/commands/tail.ts', '@parley/client'],
  ['a lower part of conversation', module('conversation/live/roster.ts'), '../log/live-log.ts'],
  ['a file of the same part of conversation', module('conversation/start/phases/startup.ts'), '../start.ts'],
  ['a part of conversation from a file above its parts', module('conversation/engine.ts'), './live/roster.ts'],
  ['a library of the web UI in its package', 'packages/web/src/app.tsx', 'react'],
  ['the client from the web UI', 'packages/web/src/api/server.ts', '@parley/client'],
  ['a node module in the server', module('lib/abort.ts'), 'node:events'],
])('the layers allow to import %s', (_, file, specifier) => {
  expect(fault(file, specifier)).toBeNull()
})

test.each([
  ['a higher line', module('storage/open.ts'), '../http/index.ts', 'http is not below storage'],
  ['the same line', module('http/app.ts'), '../webhooks/index.ts', 'webhooks is not below http'],
  [
    'a file inside of another module',
    module('http/app.ts'),
    '../conversation/run.ts',
    'conversation is entered through its index.ts',
  ],
  [
    'a file inside of a module from the composition root',
    module('compose/compose.ts'),
    '../storage/sqlite/open.ts',
    'storage is entered through its index.ts',
  ],
  ['a closed edge', module('tools/tool.ts'), '../storage/index.ts', 'tools never imports storage'],
  [
    'the composition root',
    module('http/app.ts'),
    '../compose/engine.ts',
    'a module does not import the composition root',
  ],
  [
    'a module without a line',
    module('misc/a.ts'),
    'zod',
    'the module misc has no line; give it one in test/layers/rules.ts',
  ],
  [
    'a library of another module',
    module('tools/terminal/shell.ts'),
    'node:child_process',
    'node:child_process has its home in workspace',
  ],
  [
    'a file inside of a library of another module',
    module('http/app.ts'),
    'pino/file',
    'pino/file has its home in observability',
  ],
  ['a scoped library of another module', module('agent/a.ts'), '@ai-sdk/openai', '@ai-sdk/openai has its home in llm'],
  ['a library of the server from the command line', 'packages/cli/src/main.ts', 'ws', 'ws has its home in http'],
  [
    'another package by path',
    'packages/cli/src/main.ts',
    '../../server/src/index.ts',
    'another package is imported by its name',
  ],
  [
    'a file inside of another package',
    'packages/cli/src/main.ts',
    '@parley/server/src/x.ts',
    'a package is entered by its name alone',
  ],
  ['a package above it', 'packages/client/src/call.ts', '@parley/server', 'client does not import server'],
  ['a node module in the protocol', 'packages/protocol/src/ids.ts', 'node:crypto', 'protocol runs in a browser'],
  ['a node module in the client', 'packages/client/src/call.ts', 'node:http', 'client runs in a browser'],
  ['a node module in the web UI', 'packages/web/src/app.tsx', 'node:path', 'web runs in a browser'],
  ['the server from the web UI', 'packages/web/src/app.tsx', '@parley/server', 'web does not import server'],
  ['a library of the web UI in the server', module('http/app.ts'), 'react', 'react has its home in web'],
  ['a library of the web UI in the command line', 'packages/cli/src/main.ts', 'marked', 'marked has its home in web'],
  ['a library other than zod in the protocol', 'packages/protocol/src/ids.ts', 'uuid', 'protocol depends on zod alone'],
  [
    'a higher part of conversation',
    module('conversation/log/live-log.ts'),
    '../live/live-conversation.ts',
    'conversation/live is not below conversation/log',
  ],
  [
    'a part of conversation on the same line',
    module('conversation/run/running.ts'),
    '../start/start.ts',
    'conversation/start is not below conversation/run',
  ],
  [
    'a file of conversation that is above its parts',
    module('conversation/live/roster.ts'),
    '../engine.ts',
    'conversation/engine.ts is not below conversation/live',
  ],
  [
    'a folder of conversation without a line',
    module('conversation/misc/a.ts'),
    '../drafts.ts',
    'the folder conversation/misc has no line; give it one in test/layers/rules.ts',
  ],
  ['a test', module('http/app.ts'), './app.test.ts', 'sources do not import tests'],
  ['a test helper beside the sources', module('http/app.ts'), './app.testing.ts', 'sources do not import tests'],
  ['a test helper', module('http/app.ts'), '../../testing/temp.ts', 'sources do not import tests'],
])('the layers forbid to import %s', (_, file, specifier, why) => {
  expect(fault(file, specifier)).toBe(why)
})

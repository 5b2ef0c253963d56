/** The checks of `npm run check` find what they are for: each is run over a small project with a planted violation. */
import { execFile } from 'node:child_process'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { tempDir } from '../packages/server/testing/temp.ts'
import { readSource, root } from './source-files.ts'

type Ended = { code: number; output: string }

/** Runs a program of this Node in `folder`. Code -1: it was ended by a signal. */
function runFile(folder: string, file: string, ...args: string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [file, ...args], { cwd: folder }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : typeof error.code === 'number' ? error.code : -1, output: stdout + stderr })
    })
  })
}

/** Runs a program of an installed package. */
const runIn = (folder: string, program: string, ...args: string[]): Promise<Ended> =>
  runFile(folder, join(root, 'node_modules', program), ...args)

async function write(folder: string, files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), text)
  }
}

test('the lint configuration refuses an import cycle, one of types alone too, and accepts the same files without it', async () => {
  await using dir = await tempDir()
  await copyFile(join(root, '.oxlintrc.json'), dir.file('.oxlintrc.json'))
  const lint = () => runIn(dir.path, 'oxlint/bin/oxlint', '.')
  const a = "import type { B } from './b.ts'\n\nexport type A = { b: B | null }\n"
  await write(dir.path, { 'a.ts': a, 'b.ts': 'export type B = { b: number }\n' })
  expect(await lint()).toMatchObject({ code: 0 })
  await write(dir.path, { 'b.ts': "import type { A } from './a.ts'\n\nexport type B = { a: A | null }\n" })
  const { code, output } = await lint()
  expect(code).toBe(1)
  expect(output).toContain('no-cycle')
})

test('knip reports an unused export and an unused file of a package, and nothing in a package without them', async () => {
  await using dir = await tempDir()
  const { workspaces } = JSON.parse(readSource('knip.json')) as { workspaces: Record<string, unknown> }
  const name = 'packages/protocol'
  await write(dir.path, {
    'knip.json': JSON.stringify({ workspaces: { [name]: workspaces[name] } }),
    'package.json': JSON.stringify({ name: 'root', private: true, type: 'module', workspaces: [name] }),
    [`${name}/package.json`]: JSON.stringify({ name: 'p', type: 'module', exports: { '.': './src/index.ts' } }),
    [`${name}/src/index.ts`]: "export { used } from './used.ts'\n",
    [`${name}/src/used.ts`]: 'export const used = 1\n',
  })
  const knip = () => runIn(dir.path, 'knip/bin/knip.js', '--no-progress')
  expect(await knip()).toMatchObject({ code: 0 })
  await write(dir.path, {
    [`${name}/src/used.ts`]: 'export const used = 1\nexport const neverImported = 2\n',
    [`${name}/src/forgotten.ts`]: 'export const forgotten = 3\n',
  })
  const { code, output } = await knip()
  expect(code).toBe(1)
  expect(output).toContain('neverImported')
  expect(output).toContain('forgotten.ts')
})

test('the knip configuration ignores nothing', () => {
  expect(readSource('knip.json')).not.toMatch(/"ignore/)
})

test('the check of the client routes fails when an endpoint row and the generated table differ', async () => {
  await using dir = await tempDir()
  const table = readSource('packages/client/src/routes.gen.ts')
  await write(dir.path, {
    'scripts/client-routes.mjs': readSource('scripts/client-routes.mjs'),
    'packages/client/src/routes.gen.ts': table,
    'packages/protocol/src/index.ts': `export * from ${JSON.stringify(join(root, 'packages/protocol/src/index.ts'))}\n`,
  })
  const check = () => runFile(dir.path, dir.file('scripts/client-routes.mjs'), '--check')
  expect(await check()).toEqual({ code: 0, output: '' })
  await write(dir.path, { 'packages/client/src/routes.gen.ts': table.replace('/api/conversations', '/api/changed') })
  const { code, output } = await check()
  expect(code).toBe(1)
  expect(output).toContain('run: npm run generate')
})

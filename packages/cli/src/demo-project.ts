/** The small project that the demo fixes: one module with a defect, and the test that finds it. */
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { accessSync, constants } from 'node:fs'

export const TASK = 'The test of this project fails. Find out why and fix it.'

export const FAULT = '  return Math.floor(items / perPage)'
export const REPAIR = '  return Math.ceil(items / perPage)'
export const MODULE = 'src/pages.js'

const FILES: Record<string, string> = {
  'package.json': `{ "name": "pages", "type": "module", "scripts": { "test": "node --test" } }\n`,
  [MODULE]: `/** How many pages it takes to show all items. */
export function pageCount(items, perPage) {
${FAULT}
}
`,
  'test/pages.test.js': `import assert from 'node:assert/strict'
import test from 'node:test'
import { pageCount } from '../src/pages.js'

test('seven items, three to a page, need three pages', () => {
  assert.equal(pageCount(7, 3), 3)
})
`,
}

/** Writes the project into an empty folder. */
export async function makeProject(folder: string): Promise<void> {
  for (const [name, text] of Object.entries(FILES)) {
    const path = join(folder, name)
    await mkdir(dirname(path), { recursive: true })
    await writeFile(path, text)
  }
}

/** The shell line that runs the project's test: `node` where a shell finds it, otherwise the path of this Node. */
export function testCommand(env: Readonly<Record<string, string | undefined>>): string {
  const hasNode = (env['PATH'] ?? '')
    .split(delimiter)
    .some((folder) => folder !== '' && isProgram(join(folder, 'node')))
  const program = hasNode ? 'node' : `'${process.execPath.replaceAll("'", `'\\''`)}'`
  return `${program} --test`
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Runs the project's test by itself, outside any conversation. */
export async function runTest(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<{ passes: boolean; output: string }> {
  // Inside another test run, Node's test runner only reports to its parent.
  const { NODE_TEST_CONTEXT: _outer, ...rest } = env
  return new Promise((resolve, reject) => {
    execFile(process.execPath, ['--test'], { cwd: folder, env: rest, timeout: 30_000 }, (error, stdout, stderr) => {
      if (error !== null && typeof error.code !== 'number') reject(error)
      else resolve({ passes: error === null, output: `${stdout}${stderr}` })
    })
  })
}

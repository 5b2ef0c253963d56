import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ROWS } from '../packages/server/src/config/settings.ts'
import { tempDir } from '../packages/server/testing/temp.ts'
import { readSource, root } from './source-files.ts'

const page = readSource('docs/configuration.md')
const check = (...words: string[]) =>
  new Promise<{ status: number | string; stderr: string }>((resolve) => {
    const args = ['scripts/configuration.mjs', '--check', ...words]
    execFile(process.execPath, args, { cwd: root }, (error, _, stderr) => resolve({ status: error?.code ?? 0, stderr }))
  })

test.concurrent('docs/configuration.md equals the definitions of the settings', async () => {
  const { status, stderr } = await check()
  expect([status, stderr]).toEqual([0, ''])
})

test('docs/configuration.md has a line for every setting', () => {
  const named = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name)
  expect(named).toEqual(ROWS.map(({ name }) => name))
})

test.concurrent.each<[string, (text: string) => string]>([
  ['changed', (text) => text.replace('| `8000` |', '| `8001` |')],
  ['missing', (text) => text.replace(/\n\| `port` .*/, '')],
  ['added', (text) => `${text}one more line\n`],
])('the check of the configuration page fails on a line that was %s by hand', async (_, change) => {
  await using dir = await tempDir()
  const planted = change(page)
  expect(planted).not.toBe(page)
  await writeFile(dir.file('configuration.md'), planted)
  const { status, stderr } = await check(dir.file('configuration.md'))
  expect(status).toBe(1)
  expect(stderr).toMatch(/differs from the settings' definitions at (?:line \d+|its end)/)
})

import { readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { processesOf, run, temporaryFolder } from '../testing/parley.ts'

test('the demo fixes a project in a real conversation and leaves nothing behind', async () => {
  await using folder = await temporaryFolder()
  const env = { TMPDIR: folder.path }
  const { code, stdout, stderr } = await run(['demo'], { dataDir: folder.path, env })
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^▸ apply_patch {2}src\/pages\.js {2}risk MEDIUM$/m)
  expect(stdout).toMatch(/^ {2}- {2}return Math\.floor\(items \/ perPage\)$/m)
  expect(stdout).toMatch(/^ {2}exit 1$/m)
  expect(stdout).toMatch(/^\? Here a person decides/m)
  expect(stdout).toMatch(/^✓ The test passes now: checked outside the conversation\.$/m)
  expect(await readdir(folder.path)).toEqual([])
  await expect.poll(() => processesOf(folder.path), { timeout: 5000 }).toEqual([])
})

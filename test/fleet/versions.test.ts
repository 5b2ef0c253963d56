import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { VERSION } from '../../packages/server/src/lib/index.ts'
import { filesBelow } from '../../packages/server/testing/files-below.ts'
import { SERVER_PROGRAM } from '../../packages/server/testing/server-program.ts'
import { playTwoVersions } from './versions.ts'

const OTHER = '0.0.9-other'

test('a conversation moves between nodes of two versions in the middle of its turns, and both pass requests on to each other', async () => {
  // The bundle of this run with another version, beside it because both find packages above themselves.
  const folder = `${dirname(SERVER_PROGRAM.entry)}-other`
  await using _removed = {
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  }
  await cp(dirname(SERVER_PROGRAM.entry), folder, { recursive: true })
  let changes = 0
  for await (const path of filesBelow(folder)) {
    if (!path.endsWith('.js')) continue
    const text = await readFile(path, 'utf8')
    const changed = text.replace(`VERSION = "${VERSION}"`, `VERSION = "${OTHER}"`)
    if (changed === text) continue
    changes += 1
    await writeFile(path, changed)
  }
  expect(changes).toBe(1)
  await playTwoVersions({ argv: [join(folder, basename(SERVER_PROGRAM.entry))], version: OTHER }, VERSION)
}, 120_000)

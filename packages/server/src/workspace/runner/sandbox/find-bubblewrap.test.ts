import { chmod, writeFile } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { tempDir } from '../../../../testing/temp.ts'
import { findBubblewrap } from './sandbox.ts'

const before = process.env['container']
afterEach(() => {
  if (before === undefined) delete process.env['container']
  else process.env['container'] = before
})

test('a bubblewrap that does not work in a container is reported with the options that the container needs', async () => {
  await using dir = await tempDir()
  await writeFile(dir.file('bwrap'), '#!/bin/sh\necho "bwrap: No permissions to create new namespace" >&2\nexit 1\n')
  await chmod(dir.file('bwrap'), 0o755)
  process.env['container'] = 'docker'
  const found = await findBubblewrap(dir.path)
  expect(found).toMatchObject({
    reason: 'bubblewrap does not work here: bwrap: No permissions to create new namespace',
    remedy: expect.stringMatching(/this is a container: .*docs\/deployment\.md, The sandbox in a container/),
  })
})

test('the remedy of a machine without bubblewrap is to install it', async () => {
  await using dir = await tempDir()
  expect(await findBubblewrap(dir.path)).toEqual({
    reason: 'bubblewrap is not installed',
    remedy: 'install bubblewrap 0.8 or later',
  })
})

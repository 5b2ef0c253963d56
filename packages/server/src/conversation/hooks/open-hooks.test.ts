import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { tempDir } from '../../../testing/temp.ts'
import { openHosts, openLocalWorkspaces } from '../../workspace/index.ts'
import { openHooksOf } from './open-hooks.ts'
import { testRoots } from '../../../testing/roots.ts'

const HOOKS = JSON.stringify({ stop: [{ matcher: '*', hooks: [{ type: 'command', command: 'true' }] }] })
const never = new AbortController().signal

test('the trust in a directory depends on its real path, not on the link that leads to it', async () => {
  await using dir = await tempDir()
  await using workspaces = openLocalWorkspaces({ dataDir: dir.file('data'), roots: testRoots(dir.file('data')) })
  await mkdir(dir.file('project', '.openhands'), { recursive: true })
  await writeFile(dir.file('project', '.openhands', 'hooks.json'), HOOKS)
  await mkdir(dir.file('here'))
  await symlink(dir.file('project'), dir.file('here', 'trusted'))
  const hosts = openHosts(workspaces, testRoots(dir.file('data')), dir.file('here'))
  const hooksWith = (trusted: string) => openHooksOf({ hosts, trusted: [trusted], log: { info: () => undefined } })
  const real = dir.file('project')
  expect(await hooksWith(real)('ann', 'trusted', never)).toMatchObject({ stop: [{ hooks: [{ command: 'true' }] }] })
  expect(await hooksWith(dir.file('here', 'trusted'))('ann', 'trusted', never)).toBeNull()
  expect(await hooksWith(real)('ann', 'no-such-directory', never)).toBeNull()
})

/** Folders of an external agent in a sandbox. Needs bubblewrap. Source: agent-core.md 11.12. */
import { readFileSync } from 'node:fs'
import { constants, copyFile, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { findBubblewrap } from '../../packages/server/src/workspace/index.ts'
import { startTestServer } from '../../packages/server/testing/server.ts'
import { startAcpConversation, errors, finishes, writeScript } from '../../packages/server/testing/acp-conversations.ts'

/** Copies of the agent and of Node in a folder that the sandbox shows. */
async function broughtInto(workspace: string, [, program = '', ...args]: readonly string[]): Promise<string[]> {
  const [node, copy] = [join(workspace, 'node'), join(workspace, 'agent.ts')]
  await copyFile(process.execPath, node, constants.COPYFILE_FICLONE)
  await copyFile(program, copy)
  return [node, copy, ...args]
}

const found = await findBubblewrap()

describe.skipIf('reason' in found)('ACP agents in a sandbox', () => {
  test('a sandboxed ACP agent has its credentials and folders in the home of its sandbox and does not see the data directory', async () => {
    await using server = await startTestServer({ PARLEY_SANDBOX: 'required' })
    const work = server.dir.file('work')
    await mkdir(work)
    const acp = writeScript({ file: (name) => `${work}/${name}` }, { turns: [[{ say: 'inside' }]] })
    const own = {
      secret_name: 'MY_FILE',
      filename: 'my.json',
      env_var: 'MY_FILE_AT',
      subdir: 'own',
      env_points_to: 'file',
    }
    const agent = {
      acp_command: [
        '/bin/sh',
        '-c',
        'cat "$MY_FILE_AT" > seen; exec "$0" "$@"',
        ...(await broughtInto(work, acp.agent().acp_command)),
      ],
      acp_file_secrets: [own],
    }
    const conversation = await startAcpConversation(server, acp, 'hello', {
      agent,
      secrets: { MY_FILE: 'content-of-the-file' },
    })
    await conversation.is('finished', 'error')
    expect(errors(await conversation.events())).toEqual([])
    expect(finishes(await conversation.events())).toEqual(['inside'])
    expect(readFileSync(`${work}/seen`, 'utf8')).toBe('content-of-the-file')
    expect(acp.starts()[0].env.MY_FILE_AT).toBe('/run/parley/home/acp/own/my.json')
  }, 60_000)
})

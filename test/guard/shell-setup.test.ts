/** The shell as the operator sets it up. The tests in a sandbox need bubblewrap. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { allowListed } from '../../packages/server/src/workspace/runner/environment.ts'
import { findBubblewrap } from '../../packages/server/src/workspace/index.ts'
import { readConfig } from '../../packages/server/src/index.ts'
import { never, openTestWorkspaces, terminal } from '../../packages/server/src/workspace/workspace.testing.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'

const found = await findBubblewrap()
const MODES = 'reason' in found ? (['off'] as const) : (['off', 'auto'] as const)

describe.each(MODES)('with the sandbox %s', (mode) => {
  test(`a set-up file gives its functions to terminals and its variables to programs, with the sandbox ${mode}`, async () => {
    await using dir = await tempDir()
    const setup = dir.file('setup.sh')
    mkdirSync(dir.file('venv'))
    const lines = [
      'echo noise; read -r line; false',
      'mytool() { echo "tool of a function"; }',
      'export ACTIVE=yes LINES_OF="one\ntwo"',
      'PATH="/opt/of-setup:$PATH"',
    ]
    writeFileSync(setup, lines.join('\n'))
    const shell = { passed: { PASSED_ON: 'passed' }, setup }
    await using here = await openTestWorkspaces({ sandbox: { mode, network: false }, shell })
    const workspace = await here.open()
    expect((await terminal(workspace, 'mytool; echo $ACTIVE $PASSED_ON "${PATH%%:*}"')).output).toBe(
      'tool of a function\nyes passed /opt/of-setup\n',
    )
    const print = 'echo "$ACTIVE $PASSED_ON $LINES_OF"'
    expect(await workspace.exec({ argv: ['sh', '-c', print] }, never)).toMatchObject({
      exit_code: 0,
      stdout: 'yes passed one\ntwo\n',
    })
    const program = await workspace.spawn({ argv: ['sh', '-c', print] }, never)
    expect(await new Response(program.stdout).text()).toBe('yes passed one\ntwo\n')
  })

  test(`commands run without a set-up file that is missing, or that fails, with the sandbox ${mode}`, async () => {
    await using dir = await tempDir()
    writeFileSync(dir.file('broken.sh'), 'if then\n')
    for (const name of ['none.sh', 'broken.sh']) {
      const shell = { passed: {}, setup: dir.file(name) }
      await using here = await openTestWorkspaces({ sandbox: { mode, network: false }, shell })
      const workspace = await here.open()
      expect((await terminal(workspace, 'echo up')).output).toBe('up\n')
      expect((await workspace.exec({ argv: ['echo', 'up'] }, never)).stdout).toBe('up\n')
    }
  })
})

test('places of toolchains and certificates pass to commands, and of proxies those without a password', () => {
  const passed = {
    JAVA_HOME: '/opt/java',
    SSL_CERT_FILE: '/etc/ssl/x.pem',
    https_proxy: 'http://proxy:3128',
    NO_PROXY: '*',
  }
  expect(
    allowListed({ ...passed, HTTP_PROXY: 'http://ann:pw@proxy:1', AWS_SECRET_ACCESS_KEY: 'x', DOCKER_HOST: 'x' }),
  ).toEqual(passed)
})

test('listed variables and prefixes pass, and none that configures the server', () => {
  const env = {
    PARLEY_PASS_ENVIRONMENT: 'DOCKER_HOST,MY_*,PARLEY_*,LLM_*,SESSION_API_KEY',
    PARLEY_SECRET_KEY: 'a secret of the server itself',
    LLM_API_KEY: 'key',
    SESSION_API_KEY: 'another-key-of-the-server',
    DOCKER_HOST: 'tcp://docker',
    MY_ONE: '1',
    OTHER: '2',
  }
  const { config } = readConfig({ flags: {}, env, cwd: '/', home: '/' })
  expect(config.passedVariables).toEqual({ DOCKER_HOST: 'tcp://docker', MY_ONE: '1' })
  for (const bad of ['*', 'A B', 'A=*'])
    expect(() => readConfig({ flags: {}, env: { PARLEY_PASS_ENVIRONMENT: bad }, cwd: '/', home: '/' })).toThrow(
      /names of variables such as DOCKER_HOST/,
    )
})

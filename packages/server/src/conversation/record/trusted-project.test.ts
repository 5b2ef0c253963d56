import { expect, test } from 'vitest'
import { isTrustedProject } from './trusted-project.ts'

const workspace = { kind: 'LocalWorkspace' as const, working_dir: '/srv/app' }

test('a project is trusted by its repository, and by its folder only without one', () => {
  const repository = {
    name: 'acme/app',
    provider: null,
    branch: null,
    slug: 'github.com/acme/app',
    token_variable: null,
    checked_out: null,
    is_set_up: false,
  }
  expect(isTrustedProject({ workspace }, ['/srv/app'])).toBe(true)
  expect(isTrustedProject({ workspace, repository }, ['/srv/app'])).toBe(false)
  expect(isTrustedProject({ workspace, repository }, ['github.com/acme/*'])).toBe(true)
})

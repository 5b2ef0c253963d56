/** Path and initial content of the plan. Source: agent-core.md 8.11. */
import { basename, dirname, join } from 'node:path'
import { expectInside } from '../file-editor/access.ts'
import { Refusal } from '../refusal.ts'
import type { ToolContext } from '../tool.ts'

/** Relative to the working directory. */
export const PLAN_PATH = '.agents_tmp/PLAN.md'
const OLD_PLAN_PATH = 'PLAN.md'

const EMPTY_PLAN = `# 1. Objective

# 2. Context summary

# 3. Approach overview

# 4. Implementation steps

# 5. Testing and validation
`

/**
 * Returns the absolute path of the plan and creates the file when it is missing. Without `custom`, an existing plan at
 * the root,
 * where an earlier version wrote it, is reused.
 * @throws Refusal when the path leads elsewhere through a symlink.
 */
export async function openPlan(custom: string | null, { workspace, signal }: ToolContext): Promise<string> {
  const path = custom ?? (await usualPlan(workspace, signal))
  if (custom === null) await expectInside(path, workspace, signal)
  if ((await workspace.stat(path, signal)) === null) await workspace.writeFile(path, Buffer.from(EMPTY_PLAN), signal)
  const [real, parent] = [await workspace.realPath?.(path, signal), await workspace.realPath?.(dirname(path), signal)]
  if (real != null && parent != null && real !== join(parent, basename(path)))
    throw new Refusal(`Operation not allowed: the plan ${path} is a link to another file.`)
  return path
}

async function usualPlan(workspace: ToolContext['workspace'], signal: AbortSignal): Promise<string> {
  const [usual, old] = [workspace.resolve(PLAN_PATH), workspace.resolve(OLD_PLAN_PATH)]
  if ((await workspace.stat(usual, signal)) !== null) return usual
  return (await workspace.stat(old, signal))?.kind === 'file' ? old : usual
}

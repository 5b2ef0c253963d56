/** Files that an action writes without a shell. Pure. */
import type { Action } from '@parley/protocol'

/** The paths; empty for actions that write nothing or to unknown places. */
export function writtenPaths(action: Action): readonly string[] {
  switch (action.kind) {
    case 'FileEditorAction':
    case 'PlanningFileEditorAction':
      return 'command' in action && action.command !== 'view' && typeof action.path === 'string' ? [action.path] : []
    case 'EditAction':
    case 'WriteFileAction':
      return 'file_path' in action && typeof action.file_path === 'string' ? [action.file_path] : []
    case 'ApplyPatchAction':
      return 'patch' in action && typeof action.patch === 'string' ? patchedPaths(action.patch) : []
    default:
      return []
  }
}

/** The files that a patch names, including targets of moves. */
const patchedPaths = (patch: string): string[] =>
  [...patch.matchAll(/^\*\*\* (?:(?:Add|Delete|Update) File|Move to): *(.*?) *\r?$/gm)].map(([, path]) => path!)

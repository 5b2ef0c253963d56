export { applyPatchTool } from './apply-patch-tool.ts'

export { globTool } from './glob-tool.ts'

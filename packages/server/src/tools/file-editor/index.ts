export { fileEditorTool, type FileEditorParams } from './file-editor.ts'

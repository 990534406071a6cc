@echo off
setlocal
set "python=%~dp0python.exe"
if not exist "%python%" set "python=%~dp0..\python.exe"
if not exist "%python%" set "python=python.exe"
"%python%" -I -m agent_exec %*
